package signals

import (
	"time"

	"example.com/kitsoki/host"
)

// AskNotice is an ask as a program of the operator's reads it, as JSON. Its texts are safe for display.
type AskNotice struct {
	ID        string           `json:"id"`
	Session   string           `json:"session"`
	Agent     string           `json:"agent"`
	Path      []string         `json:"path"` // sub-agents from the outermost in; empty for the agent itself
	Dir       string           `json:"dir"`
	Header    string           `json:"header"` // the first one that a question has
	Questions []NoticeQuestion `json:"questions"`
	Opened    time.Time        `json:"opened"`
	Deadline  time.Time        `json:"deadline"`
}

// NoticeQuestion is one question of an ask.
type NoticeQuestion struct {
	Question    string   `json:"question"`
	Options     []string `json:"options"`
	MultiSelect bool     `json:"multi_select"`
}

// NoticeOf tells of an ask. Its lists are never null, so that a script can go through them.
func NoticeOf(ask host.AskInfo) AskNotice {
	n := AskNotice{
		ID: ask.ID, Session: ask.SessionID, Agent: ask.Asker.Agent, Path: append([]string{}, ask.Asker.Path...), Dir: ask.Asker.Dir,
		Questions: []NoticeQuestion{}, Opened: ask.Opened, Deadline: ask.Deadline,
	}
	for _, q := range ask.Questions {
		if n.Header == "" {
			n.Header = q.Header
		}
		labels := []string{}
		for _, o := range q.Options {
			labels = append(labels, o.Label)
		}
		n.Questions = append(n.Questions, NoticeQuestion{Question: q.Question, Options: labels, MultiSelect: q.MultiSelect})
	}
	return n
}
