package linemode

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/tui/proposal"
	"example.com/kitsoki/tui/question"
)

// allowWord is the second line of the two that allow a proposal. It is no number, which the first one is.
const allowWord = "allow"

// proposalHelp says what can be typed while a proposal is open.
const proposalHelp = "answer with a row; a row that allows it asks for the word " + allowWord + " on a line of its own · " +
	"d REASON denies it · v what the agent did · + more time · fold"

// quoted marks the lines of a text that begin like a proposal, so that no text of an agent's can be taken for one. All
// that line mode writes goes through it, but the proposals themselves.
func quoted(text string) string {
	lines := strings.Split(text, "\n")
	for i, l := range lines {
		if question.Opens(l, "proposal") || question.Opens(l, "end of proposal") {
			lines[i] = "| " + l
		}
	}
	return strings.Join(lines, "\n")
}

// showProposal writes a proposal: what would run with a number before each of its lines, whole, between two lines whose
// first words nothing else begins with.
func (m *mode) showProposal(a *asked) {
	p, rows := proposal.Of(a.info), proposal.Rows(a.info)
	lines := strings.Split(strings.TrimSuffix(p.Text, "\n"), "\n")
	m.print(fmt.Sprintf("%s · %s · %s, waits %d s: %s", proposal.Word, p.Effect, who(a.info), int(a.info.Deadline.Sub(m.now()).Seconds()), p.Title))
	m.print(fmt.Sprintf("  %s in %s, %s", p.Tool, p.Dir, proposal.Does(p.Effect)))
	for _, about := range [][2]string{{"why", p.Reason}, {"if denied", p.Held}} {
		if about[1] != "" {
			m.print("  " + about[0] + ": " + about[1])
		}
	}
	if n := m.alike(a); n > 0 {
		m.print(fmt.Sprintf("  %d more like this wait", n))
	}
	if m.twin(a) {
		m.print("  (another open proposal has the same words; look who asks)")
	}
	kind := "what would run"
	if p.Diff {
		kind = "what would change"
	}
	m.print(fmt.Sprintf("  %s, %d %s:", kind, len(lines), plural(len(lines), "line", "lines")))
	for i, l := range lines {
		m.print(fmt.Sprintf("  %d: %s", i+1, l))
	}
	m.print("END OF " + proposal.Word)
	for i, o := range rows {
		m.print(fmt.Sprintf("  %d %s - %s", i+1, o.Label, strings.ReplaceAll(o.Description, "\n", " ")))
	}
	m.guard.Arm(m.now()) // once all that has to be read is written
	m.print("  " + proposalHelp)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// alike is how many more proposals wait that a yes for the turn may settle as well.
func (m *mode) alike(a *asked) int {
	n := 0
	for _, b := range m.asks {
		if a != b && proposal.Alike(a.info, b.info) {
			n++
		}
	}
	return n
}

// answerProposal does what a line means while a proposal is open.
func (m *mode) answerProposal(ctx context.Context, a *asked, l typed) {
	line, row, rows := strings.TrimSpace(l.text), a.chosen, proposal.Rows(a.info)
	a.chosen = 0
	if !m.guard.Admit(l.stroke(m.now()), true) {
		m.say("! that line came before the proposal could be read and was not taken: " + askbridge.Safe(line))
		return
	}
	if row > 0 {
		if strings.EqualFold(line, allowWord) && !l.cut {
			m.close(a, rows[row-1].Label, a.ask.Answer(ctx, []host.Answer{{Picked: []int{row - 1}}}))
			return
		}
		m.say("  not allowed; the proposal is open still")
	}
	word, rest, _ := strings.Cut(line, " ")
	switch n, err := strconv.Atoi(line); {
	case err == nil && (n < 1 || n > len(rows)):
		m.say(fmt.Sprintf("! there is no row %d; %s", n, proposalHelp))
	case err == nil && !proposal.Allows(rows[n-1].Label), word == "d" && rest == "":
		m.deny(ctx, a)
	case err == nil && a.info.Proposal == nil:
		m.say("! it was not said what would run: this can only be denied")
	case err == nil:
		a.chosen = n
		a.ask.Touch()
		m.guard.Arm(m.now())
		m.say(fmt.Sprintf("  %s on a line of its own allows it %s; any other line goes back", allowWord, proposal.Reach(rows[n-1].Label)))
	case word == "d":
		reason := strings.TrimSpace(rest)
		m.close(a, host.Deny, a.ask.Decline(ctx, reason, nil))
	case line == "+":
		m.report(a.ask.Extend(ctx, question.ExtendBy))
	case line == "v":
		m.peek(ctx, a)
	case line == "fold":
		a.folded = true
		m.say("  folded; /open shows it again, and a line is a prompt now")
		m.next()
	case row == 0 && strings.EqualFold(line, allowWord):
		m.say("! first the number of a row, then " + allowWord)
	case row == 0:
		m.say("! that answers no proposal; " + proposalHelp)
	}
}

func (m *mode) deny(ctx context.Context, a *asked) {
	if row := proposal.DenyRow(proposal.Rows(a.info)); row >= 0 {
		m.close(a, host.Deny, a.ask.Answer(ctx, []host.Answer{{Picked: []int{row}}}))
		return
	}
	m.close(a, host.Deny, a.ask.Decline(ctx, "", nil))
}

// close says how an answer to a proposal was taken.
func (m *mode) close(a *asked, row string, err error) {
	var fields *host.FieldErrors
	if errors.As(err, &fields) {
		m.report(fields)
		return
	}
	m.remove(a)
	switch {
	case err != nil:
		m.say("! not taken: " + strings.ReplaceAll(err.Error(), "_", " "))
	case proposal.Allows(row):
		m.say("= " + proposal.Settled(row, proposal.Of(a.info).Title))
	default:
		m.say("- " + proposal.Settled(row, proposal.Of(a.info).Title))
	}
	m.next()
}
