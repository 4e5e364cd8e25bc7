package agent

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
)

// Observer hears what happens during a dispatch. Its functions are called one at a time, those of the stream in its
// order, and should return soon: the agent waits meanwhile. Each may be nil.
type Observer struct {
	Line    func(raw []byte)                   // each line of the stream as it came, without its newline; valid during the call
	Event   func(e StreamEvent, path []string) // what it says, and the sub-agent that says it, outermost first
	Asker   func(host.Asker)                   // an ask was opened by this asker
	Notice  func(sentence string)              // something the operator should know
	Refused func(askbridge.Refusal)

	Started    func(argv []string)                             // the agent is about to be started, by its path and arguments; once an attempt
	Normalised func(questionID string, notes []askbridge.Note) // an ask was mended; called while it is not open yet

	Recalled func(Recall)  // an ask was answered from memory; a Notice says so too
	Retried  func(Attempt) // an attempt has ended and another one follows; a Notice says so too
}

// Attempt is one run of the agent within a verb call.
type Attempt struct {
	Number int    // from 1
	Result Result // of this attempt alone
	Reason string // why it was not enough, in words
}

// oneAtATime is the same observer behind one lock: streams, sockets and clocks have goroutines of their own.
func (o Observer) oneAtATime() Observer {
	var mu sync.Mutex
	return Observer{
		Line:    locked(&mu, o.Line),
		Asker:   locked(&mu, o.Asker),
		Notice:  locked(&mu, o.Notice),
		Refused: locked(&mu, o.Refused),
		Started: locked(&mu, o.Started),

		Event:      locked2(&mu, o.Event),
		Normalised: locked2(&mu, o.Normalised),
		Recalled:   locked(&mu, o.Recalled),
		Retried:    locked(&mu, o.Retried),
	}
}

func locked[A any](mu *sync.Mutex, f func(A)) func(A) {
	return func(a A) {
		if f != nil {
			mu.Lock()
			defer mu.Unlock()
			f(a)
		}
	}
}

func locked2[A, B any](mu *sync.Mutex, f func(A, B)) func(A, B) {
	return func(a A, b B) {
		if f != nil {
			mu.Lock()
			defer mu.Unlock()
			f(a, b)
		}
	}
}

// recall tells of an answer from memory, in a sentence a question.
func (o Observer) recall(r Recall) {
	o.Recalled(r)
	for i, q := range r.Questions {
		o.Notice(fmt.Sprintf("attempt %d asked %s again and was given the answer from before: %s", r.Attempt,
			strconv.Quote(brief(q.Question)), answerWords(q, r.Answers[i])))
	}
}

func answerWords(q host.OperatorQuestion, a host.Answer) string {
	answers, notes, err := host.EncodeAnswers([]host.OperatorQuestion{q}, []host.Answer{a})
	if err != nil {
		return err.Error()
	}
	raw, _ := json.Marshal(answers[q.Question]) // texts always encode
	words := brief(string(raw))
	if note := notes[q.Question]; note != "" {
		words += " (note: " + strconv.Quote(brief(note)) + ")"
	}
	return words
}

// brief is one line of a text.
func brief(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxWords {
		return string(runes[:maxWords]) + "…"
	}
	return text
}
