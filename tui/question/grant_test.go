package question

import (
	"testing"

	"example.com/kitsoki/host"
)

func rowsNamed(labels ...string) host.OperatorQuestion {
	q := host.OperatorQuestion{Question: "How far?"}
	for _, l := range labels {
		q.Options = append(q.Options, host.OperatorOption{Label: l})
	}
	return q
}

// Words that look like those of a permission or a proposal are taken for them; the words of plain questions are not.
func TestWordsThatLookAlike(t *testing.T) {
	header := func(h string) host.OperatorQuestion { return host.OperatorQuestion{Question: "May I?", Header: h} }
	for name, q := range map[string]host.OperatorQuestion{
		"the header": header("PROPOSAL"), "in small letters": header("a proposal"), "cyrillic": header("РRОРОSАL"), "full width": header("ＰＲＯＰＯＳＡＬ"),
		"mathematics": header("𝐏𝐑𝐎𝐏𝐎𝐒𝐀𝐋"), "digits": header("PR0P0SAL"), "accents": header("Pröpósàl"), "marks": header("P\u0336R\u0336O\u0336P\u0336OSAL"),
		"a hidden space": header("PRO‹U+200B›POSAL"), "spread": header("P R O P O S A L"), "a sign": header("║ Edit"),
		"scopes": rowsNamed("Turn", "ACTION", "session", "deny"), "two of them": rowsNamed("this", "turn", "session"), "scopes that look like it": rowsNamed("tսrn", "aсtion"),
		"a denial": rowsNamed("yes", "Deny it"), "a denial that looks like it": rowsNamed("yes", "dеny"),
		"its first line": {Question: "PROPOSAL · write · claude\nBash ls"}, "a later line": {Question: "Look:\n  Proposal, write"}, "its frame": {Question: "a\n╠═══"},
		"a frame in a row": {Question: "a", Options: []host.OperatorOption{{Label: "x", Description: "a\n║ b"}}},
	} {
		if !SoundsLikePermission(host.KindQuestion, q) {
			t.Errorf("%s: %+v is taken for a plain question", name, q)
		}
		if SoundsLikePermission(host.KindProposal, q) {
			t.Errorf("%s: a proposal is taken for a question that poses as one", name)
		}
	}
	for name, q := range map[string]host.OperatorQuestion{
		"a plain one": header("Database"), "the word in a sentence": {Question: "Which of the two designs in the proposal do you prefer?"},
		"one scope": rowsNamed("Session", "Cookie"), "a table": {Question: "| a | b |\n|---|---|"}, "a verb": rowsNamed("Take action now", "Turn it off", "Session storage"),
		"nothing": {},
	} {
		if SoundsLikePermission(host.KindQuestion, q) {
			t.Errorf("%s: %+v is taken for a permission", name, q)
		}
	}
	info := host.AskInfo{Questions: []host.OperatorQuestion{header("Database")}, Asker: host.Asker{Agent: "claude", Path: []string{"PROPOSAL · write"}}}
	if !Poses(info, 0) {
		t.Error("a sub-agent can be called like a proposal")
	}
}
