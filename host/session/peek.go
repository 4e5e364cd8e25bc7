package session

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Peek is what an operator sees of who asks, beside the question. Its texts are safe for display.
type Peek struct {
	Path    []string // the sub-agent that asks, outermost first; empty for the agent itself
	Words   []string // its last messages, oldest first; the last one may still be being written
	WordsOf []string // whose words they are: Path, or who is above it when it said nothing yet
	Tools   []PeekTool
	ToolsOf []string // whose calls they are, likewise
	CostUSD float64  // of the session, as of its last ended turn
	Tokens  int64
	Turn    int // the one that words and tools are from
	Diff    Diff
}

// PeekTool is one call of a tool. Input and Result are in short.
type PeekTool struct {
	Name, Input, Result string
	Failed, Done        bool
}

// What a recall keeps of one asker, and of how many.
const (
	recallWords  = 10
	recallRunes  = 4000 // of a message; its end says most
	recallTools  = 20
	recallAskers = 64
)

// recall remembers what each asker of the newest turn said and did last. Its size is bounded. The zero value is
// ready, a nil one remembers nothing, and it is safe for concurrent use. Sub-agents of the same name under the same
// parent share a memory: events name them by their path alone.
type recall struct {
	mu     sync.Mutex // guards all below
	turn   int
	clock  uint64 // counts events, so that the asker that was silent longest can go
	askers map[string]*recalled
}

// recalled is the memory of one asker, oldest first.
type recalled struct {
	words []recalledWords
	tools []recalledTool
	used  uint64
}

type recalledWords struct {
	key, text string
	open      bool // deltas still come
}

type recalledTool struct {
	key string
	PeekTool
}

// begin forgets the turns before the given one.
func (r *recall) begin(turn int) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.beginLocked(turn)
}

func (r *recall) beginLocked(turn int) {
	if turn > r.turn || r.askers == nil {
		r.turn, r.askers = turn, map[string]*recalled{}
	}
}

// add remembers an event of the newest turn, as far as a peek shows it.
func (r *recall) add(e Event) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.beginLocked(e.Turn)
	if e.Turn != r.turn {
		return
	}
	switch e.Kind {
	case Delta, Said:
		r.ofLocked(e.Path).say(e)
	case Tool:
		a := r.ofLocked(e.Path)
		a.tools = newest(append(a.tools, recalledTool{e.Key, PeekTool{Name: e.Tool, Input: e.Text}}), recallTools)
	case ToolDone:
		r.ofLocked(e.Path).toolDone(e)
	}
}

// look returns what the asker at path said and did last, for the caller to add cost and diff. Who has said nothing
// yet is shown with the words of the nearest one above, and likewise with its calls.
func (r *recall) look(path []string) Peek {
	p := Peek{Path: slices.Clone(path)}
	if r == nil {
		return p
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p.Turn = r.turn
	for n := len(path); n >= 0; n-- {
		a := r.askers[askerKey(path[:n])]
		if a == nil {
			continue
		}
		if p.Words == nil {
			p.Words, p.WordsOf = a.said(), p.Path[:n]
		}
		if p.Tools == nil {
			p.Tools, p.ToolsOf = a.did(), p.Path[:n]
		}
	}
	return p
}

// askerKey is a path as a key: names of safe text have no line ends.
func askerKey(path []string) string { return strings.Join(path, "\n") }

func (r *recall) ofLocked(path []string) *recalled {
	key := askerKey(path)
	a := r.askers[key]
	if a == nil {
		if len(r.askers) >= recallAskers {
			r.dropLocked()
		}
		a = &recalled{}
		r.askers[key] = a
	}
	r.clock++
	a.used = r.clock
	return a
}

// dropLocked forgets who was silent longest; the agent itself is never forgotten.
func (r *recall) dropLocked() {
	oldest, found := "", uint64(0)
	for key, a := range r.askers {
		if key != "" && (found == 0 || a.used < found) {
			oldest, found = key, a.used
		}
	}
	if found > 0 {
		delete(r.askers, oldest)
	}
}

// say grows a message by a delta, or puts the whole message into its place.
func (a *recalled) say(e Event) {
	for i := len(a.words) - 1; i >= 0; i-- {
		w := &a.words[i]
		if !w.open || w.key != e.Key {
			continue
		}
		if e.Kind == Delta {
			w.text = tail(w.text+e.Text, recallRunes+1) // one more shows that it was cut
		} else {
			w.text, w.open = tail(e.Text, recallRunes+1), false
		}
		return
	}
	a.words = newest(append(a.words, recalledWords{e.Key, tail(e.Text, recallRunes+1), e.Kind == Delta}), recallWords)
}

func (a *recalled) toolDone(e Event) {
	for i := len(a.tools) - 1; i >= 0; i-- {
		if t := &a.tools[i]; t.key == e.Key {
			t.Done, t.Failed, t.Result = true, e.Failed, e.Text
			return
		}
	}
}

func (a *recalled) said() []string {
	var out []string
	for _, w := range a.words {
		text := tail(w.text, recallRunes)
		if text != w.text {
			text = "…" + text
		}
		if strings.TrimSpace(text) != "" {
			out = append(out, text)
		}
	}
	return out
}

func (a *recalled) did() []PeekTool {
	var out []PeekTool
	for _, t := range a.tools {
		out = append(out, t.PeekTool)
	}
	return out
}

// newest keeps the last n, in an array that does not grow with what was dropped.
func newest[T any](all []T, n int) []T {
	if len(all) > n {
		return slices.Delete(all, 0, len(all)-n)
	}
	return all
}

// tail is the last n runes of a text.
func tail(text string, n int) string {
	at := len(text)
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(text[:at])
		at -= size
	}
	if at == 0 {
		return text
	}
	return strings.Clone(text[at:]) // so that the rest can go
}
