package session

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"example.com/kitsoki/host/agent"
)

func said(turn int, key, text string, path ...string) Event {
	return Event{Kind: Said, Turn: turn, Key: key, Text: text, Path: path}
}

func TestRecallKeepsWhatWasSaidAndDone(t *testing.T) {
	var r recall
	r.add(said(1, "m1", "first"))
	r.add(Event{Kind: Delta, Turn: 1, Key: "m2", Text: "sec"})
	r.add(Event{Kind: Delta, Turn: 1, Key: "m2", Text: "ond"})
	r.add(Event{Kind: Tool, Turn: 1, Key: "t1", Tool: "Bash", Text: "ls"})
	r.add(Event{Kind: Tool, Turn: 1, Key: "t2", Tool: "Read", Text: "x"})
	p := r.look(nil)
	if want := []string{"first", "second"}; !slices.Equal(p.Words, want) {
		t.Errorf("while it is being written: %q, want %q", p.Words, want)
	}
	r.add(said(1, "m2", "second."))
	r.add(Event{Kind: Delta, Turn: 1, Key: "m2", Text: "another block"}) // a message can have several
	r.add(Event{Kind: Delta, Turn: 1, Key: "m3", Text: " \n"})
	r.add(Event{Kind: ToolDone, Turn: 1, Key: "t1", Text: "no such file", Failed: true})
	r.add(Event{Kind: ToolDone, Turn: 1, Key: "unknown"})
	p = r.look(nil)
	if want := []string{"first", "second.", "another block"}; !slices.Equal(p.Words, want) {
		t.Errorf("words %q, want %q", p.Words, want)
	}
	want := []PeekTool{{Name: "Bash", Input: "ls", Result: "no such file", Failed: true, Done: true}, {Name: "Read", Input: "x"}}
	if !slices.Equal(p.Tools, want) || p.Turn != 1 {
		t.Errorf("turn %d, tools %+v", p.Turn, p.Tools)
	}
}

func TestRecallOfSubAgents(t *testing.T) {
	var r recall
	r.add(said(1, "m1", "parent"))
	r.add(Event{Kind: Tool, Turn: 1, Key: "t1", Tool: "Agent"})
	r.add(said(1, "m2", "child", "tests"))
	r.add(Event{Kind: Tool, Turn: 1, Key: "t2", Tool: "Bash", Path: []string{"tests", "race"}})

	p := r.look([]string{"tests"})
	if !slices.Equal(p.Words, []string{"child"}) || !slices.Equal(p.WordsOf, []string{"tests"}) {
		t.Errorf("its own words come first: %+v", p)
	}
	if len(p.Tools) != 1 || p.Tools[0].Name != "Agent" || len(p.ToolsOf) != 0 {
		t.Errorf("without calls of its own it has those of its parent: %+v", p)
	}
	p = r.look([]string{"tests", "race"})
	if !slices.Equal(p.Words, []string{"child"}) || len(p.Tools) != 1 || p.Tools[0].Name != "Bash" || !slices.Equal(p.ToolsOf, []string{"tests", "race"}) {
		t.Errorf("the grandchild: %+v", p)
	}
	if p = r.look([]string{"docs"}); !slices.Equal(p.Words, []string{"parent"}) || len(p.WordsOf) != 0 || !slices.Equal(p.Path, []string{"docs"}) {
		t.Errorf("one that said nothing: %+v", p)
	}
	if p = r.look(nil); !slices.Equal(p.Words, []string{"parent"}) {
		t.Errorf("the agent has no words of its sub-agents: %+v", p)
	}
}

func TestRecallForgetsEarlierTurns(t *testing.T) {
	var r recall
	r.add(said(1, "m1", "old"))
	r.begin(2)
	if p := r.look(nil); p.Words != nil || p.Turn != 2 {
		t.Errorf("after the start of a turn: %+v", p)
	}
	r.add(said(1, "m2", "late"))
	r.add(said(3, "m3", "new"))
	r.begin(2)
	if p := r.look(nil); !slices.Equal(p.Words, []string{"new"}) || p.Turn != 3 {
		t.Errorf("%+v", p)
	}
}

func TestNilRecallRemembersNothing(t *testing.T) {
	var r *recall
	r.begin(1)
	r.add(said(1, "m", "x"))
	if p := r.look([]string{"a"}); p.Words != nil || len(p.Path) != 1 {
		t.Errorf("%+v", p)
	}
}

func TestRecallIsBounded(t *testing.T) {
	var r recall
	r.add(said(1, "m", "the agent itself"))
	for i := range 3 * recallAskers {
		r.add(said(1, "m", "x", fmt.Sprint(i)))
	}
	if len(r.askers) != recallAskers {
		t.Errorf("%d askers are remembered", len(r.askers))
	}
	if p := r.look(nil); !slices.Equal(p.Words, []string{"the agent itself"}) {
		t.Errorf("the agent itself was forgotten: %+v", p)
	}
	if p := r.look([]string{fmt.Sprint(3*recallAskers - 1)}); !slices.Equal(p.Words, []string{"x"}) {
		t.Errorf("the newest was forgotten: %+v", p)
	}
}

// Whatever comes, there are the last messages, each by its end, and the last calls.
func TestRecallKeepsTheNewest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r recall
		var words, calls []string
		for i := range rapid.IntRange(0, 40).Draw(t, "events") {
			key := fmt.Sprint(i)
			if rapid.Bool().Draw(t, "tool") {
				calls = append(calls, key)
				r.add(Event{Kind: Tool, Turn: 1, Key: key, Tool: key})
				continue
			}
			text := "a" + rapid.StringN(0, 10, -1).Draw(t, "text")
			text = strings.Repeat(text, rapid.SampledFrom([]int{1, 1, 1000}).Draw(t, "times")) + "z"
			words = append(words, text)
			if rapid.Bool().Draw(t, "whole") {
				r.add(said(1, key, text))
				continue
			}
			at := rapid.IntRange(0, len(text)).Draw(t, "cut")
			for at < len(text) && !utf8.RuneStart(text[at]) {
				at++
			}
			r.add(Event{Kind: Delta, Turn: 1, Key: key, Text: text[:at]})
			r.add(Event{Kind: Delta, Turn: 1, Key: key, Text: text[at:]})
		}
		p := r.look(nil)
		words, calls = words[max(0, len(words)-recallWords):], calls[max(0, len(calls)-recallTools):]
		if len(p.Words) != len(words) || len(p.Tools) != len(calls) {
			t.Fatalf("%d messages of %d, %d calls of %d", len(p.Words), len(words), len(p.Tools), len(calls))
		}
		for i, want := range words {
			if n := utf8.RuneCountInString(want); n > recallRunes {
				want = "…" + string([]rune(want)[n-recallRunes:])
			}
			if p.Words[i] != want {
				t.Fatalf("message %d is %q, want %q", i, p.Words[i], want)
			}
		}
		for i, want := range calls {
			if p.Tools[i].Name != want {
				t.Fatalf("call %d is %q, want %q", i, p.Tools[i].Name, want)
			}
		}
	})
}

func TestNarratorRemembersWhatItTells(t *testing.T) {
	s := newTestSession(t, nil)
	n := &narrator{s: s, turn: 1, recall: &recall{}}
	n.event(agent.TextDelta{MessageID: "m", Text: "loo\x1bking"}, []string{"te\x1bsts"})
	n.event(agent.ToolUse{ID: "t", Name: "Bash", Input: json.RawMessage(`{"command":"ls"}`)}, []string{"te\x1bsts"})
	n.event(agent.ToolUse{ID: "a", Name: agent.AskTool}, []string{"te\x1bsts"})
	n.event(agent.ToolResult{ID: "t", Text: "a\nb"}, []string{"te\x1bsts"})
	p := n.recall.look([]string{"te‹ESC›sts"})
	if !slices.Equal(p.Words, []string{"loo‹ESC›king"}) {
		t.Errorf("words %q", p.Words)
	}
	if want := []PeekTool{{Name: "Bash", Input: "ls", Result: "a b", Done: true}}; !slices.Equal(p.Tools, want) {
		t.Errorf("tools %+v", p.Tools)
	}
}
