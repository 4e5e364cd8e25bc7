package scripted

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// memory holds what came of the calls that have an id. Sub-agents note theirs at the same time.
type memory struct {
	mu       sync.Mutex
	outcomes map[string]outcome
}

// outcome is what came of one call.
type outcome struct {
	failed  bool
	text    string   // what the tool returned, the error text of a failed one
	asked   []string // the texts of an ask's questions
	answers map[string]json.RawMessage
	notes   map[string]string
}

// Answer is what the operator said to one question.
type Answer struct {
	Question string
	Text     string   // the pick, or all of them, or own words
	List     []string // of a multi-select; empty when the operator said "none of them"
	Note     string
	Skipped  bool // the question was left out
}

// note keeps a result. An ask whose result says nothing is a failed one: no answer is never an answer.
func (m *memory) note(c call, res toolResult) {
	if c.id == "" {
		return
	}
	out := outcome{failed: res.isError, text: res.text, asked: c.asked}
	if c.name == askTool && !res.isError {
		var err error
		if out.answers, out.notes, err = readAnswers(res.text); err != nil {
			out.failed, out.text = true, err.Error()
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.outcomes[c.id] = out
}

func readAnswers(text string) (answers map[string]json.RawMessage, notes map[string]string, err error) {
	var doc struct {
		Answers map[string]json.RawMessage `json:"answers"`
		Notes   map[string]string          `json:"notes"`
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		return nil, nil, fmt.Errorf("the ask came back with no answers that can be read: %w", err)
	}
	if len(doc.Answers) == 0 {
		return nil, nil, fmt.Errorf("the ask came back with no answer: %s", text)
	}
	return doc.Answers, doc.Notes, nil
}

func (m *memory) outcome(id string) (outcome, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	out, ok := m.outcomes[id]
	if !ok {
		return outcome{}, fmt.Errorf("no call with the id %q has been made", id)
	}
	return out, nil
}

// answer is one question's answer. That question must have been asked.
func (o outcome) answer(question string) (Answer, error) {
	raw, given := o.answers[question]
	a := Answer{Question: question, Note: o.notes[question], Skipped: !given}
	if !given {
		for _, q := range o.asked {
			if q == question {
				return a, nil
			}
		}
		return Answer{}, fmt.Errorf("the question %q was not asked", question)
	}
	if json.Unmarshal(raw, &a.Text) == nil && string(raw) != "null" {
		return a, nil
	}
	if err := json.Unmarshal(raw, &a.List); err != nil || a.List == nil {
		return Answer{}, fmt.Errorf("the answer to %q is neither a text nor a list of texts: %s", question, raw)
	}
	a.Text = strings.Join(a.List, ", ")
	return a, nil
}

func questionTexts(questions jsonValue) []string {
	var list []struct {
		Question string `json:"question"`
	}
	_ = json.Unmarshal(questions, &list) // malformed ones have no texts to answer to
	var texts []string
	for _, q := range list {
		texts = append(texts, q.Question)
	}
	return texts
}
