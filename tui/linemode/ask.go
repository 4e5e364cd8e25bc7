package linemode

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/tui/question"
)

// answerHelp says what can be typed while an ask is open.
const answerHelp = "answer with a row (several: 1,3) · o TEXT own answer · n TEXT note · s skip · b back · none · send · " +
	"e WORDS ask back · r what is recommended · p ROW preview · v what the agent did · d REASON decline · + more time · fold"

// asked is one open ask.
type asked struct {
	ask    host.Ask
	info   host.AskInfo
	sheet  question.Sheet
	folded bool
}

func (m *mode) current() *asked {
	for _, a := range m.asks {
		if !a.folded {
			return a
		}
	}
	return nil
}

func (m *mode) find(id string) *asked {
	for _, a := range m.asks {
		if a.info.ID == id {
			return a
		}
	}
	return nil
}

func (m *mode) opened(ask host.Ask) {
	info := ask.Info()
	drafts := make([]host.Draft, len(info.Questions))
	for i := range drafts {
		drafts[i] = ask.Draft(i)
	}
	a := &asked{ask: ask, info: info, sheet: question.New(info.Questions, drafts)}
	m.asks = append(m.asks, a)
	if m.current() == a {
		m.show(a)
		return
	}
	m.say(fmt.Sprintf("? %s asks too; %d asks are open", who(info), len(m.asks)))
}

func who(info host.AskInfo) string {
	words := strings.Join(append([]string{info.Asker.Agent}, info.Asker.Path...), " › ")
	if info.Asker.Guest {
		return "guest: " + words
	}
	return words
}

// show writes the focused page of an ask. Lines that were on their way by then answer nothing.
func (m *mode) show(a *asked) {
	m.guard.Arm(m.now())
	left := a.info.Deadline.Sub(m.now())
	if a.sheet.OnReview() {
		m.say("? all questions have an answer; send sends this:")
		for i, q := range a.info.Questions {
			m.say(fmt.Sprintf("  %s: %s", q.Question, spoken(q, a.sheet.Drafts[i])))
		}
		return
	}
	q := a.sheet.Question()
	m.say(fmt.Sprintf("? %s asks, question %d of %d, waits %d s: %s", who(a.info), a.sheet.Focus+1, len(a.info.Questions), int(left.Seconds()), q.Question))
	if question.SoundsLikePermission(a.info.Kind, q) {
		m.say("  (" + question.GrantsNothing + ")")
	}
	if m.twin(a) {
		m.say("  (another open ask has the same words; look who asks)")
	}
	for i, o := range q.Options {
		row := fmt.Sprintf("  %d %s", i+1, o.Label)
		if o.Description != "" {
			row += " - " + o.Description
		}
		if o.Preview != "" {
			row += fmt.Sprintf(" (p %d shows its preview)", i+1)
		}
		m.say(row)
	}
	kind := ""
	if q.MultiSelect {
		kind = "several rows can be chosen; "
	}
	help := "answer with a row, or as before; /help lists all"
	if !m.helped {
		help, m.helped = answerHelp, true
	}
	m.say("  " + kind + help)
}

// spoken is a draft in words.
func spoken(q host.OperatorQuestion, d host.Draft) string {
	var parts []string
	for _, p := range d.Picked {
		parts = append(parts, q.Options[p].Label)
	}
	if d.Text != "" {
		parts = append(parts, "“"+askbridge.Safe(d.Text)+"”")
	}
	if d.Note != "" {
		parts = append(parts, "note “"+askbridge.Safe(d.Note)+"”")
	}
	switch {
	case d.Skipped:
		return "skipped"
	case d.None:
		return "none of them"
	case len(parts) == 0:
		return "open"
	}
	return strings.Join(parts, ", ")
}

func (m *mode) unfold() {
	for _, a := range m.asks {
		if a.folded {
			a.folded = false
			m.show(a)
			return
		}
	}
	m.say("no ask is folded")
}

func (m *mode) changed(info host.AskInfo) {
	if a := m.find(info.ID); a != nil {
		if !info.Deadline.Equal(a.info.Deadline) && a == m.current() {
			m.say(fmt.Sprintf("  the ask now waits %d s", int(info.Deadline.Sub(m.now()).Seconds())))
		}
		a.info = info
	}
}

func (m *mode) ended(id string, end host.Resolution) {
	a := m.find(id)
	if a == nil {
		return
	}
	m.remove(a)
	m.say("- the ask has ended: " + strings.ReplaceAll(end.Error(), "_", " "))
	for _, text := range a.sheet.Unsent(nil, false) {
		m.say("  what you had typed: " + askbridge.SafeText(text))
	}
	m.next()
}

func (m *mode) remove(a *asked) {
	m.asks = slices.DeleteFunc(m.asks, func(b *asked) bool { return a == b })
}

func (m *mode) next() {
	if a := m.current(); a != nil {
		m.show(a)
	}
}

// answer does what a line means while an ask is open.
func (m *mode) answer(ctx context.Context, a *asked, line string) {
	if !m.guard.Admit(question.Pressed(m.now()), true) {
		m.say("! that line came before the question could be read and was not taken: " + askbridge.Safe(line))
		return
	}
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch {
	case word == "+":
		m.report(a.ask.Extend(ctx, question.ExtendBy))
		return
	case word == "v" && rest == "":
		m.peek(ctx, a)
		return
	case word == "p":
		m.preview(a, rest)
		return
	}
	actions, problem := a.actions(word, strings.TrimSpace(rest))
	if problem != "" {
		m.say("! " + problem)
		return
	}
	a.ask.Touch()
	focus := a.sheet.Focus
	for _, action := range actions {
		var e question.Effect
		a.sheet, e = a.sheet.Reduce(action)
		if e.Finished {
			a.sheet, e = a.sheet.Advance()
		}
		if m.effect(ctx, a, e) {
			return
		}
	}
	m.save(ctx, a)
	switch {
	case a.sheet.Notice != "":
		m.say("  " + a.sheet.Notice)
	case a.sheet.Focus != focus:
		m.show(a)
	default:
		m.say("  " + spoken(a.sheet.Question(), a.sheet.Draft()))
	}
}

// actions reads a line as steps of the reducer. problem says in words what cannot be done.
func (a *asked) actions(word, rest string) (out []question.Action, problem string) {
	do := func(d question.Do) question.Action { return question.Action{Do: d} }
	q := a.sheet.Question()
	switch word {
	case "o":
		if rest == "" {
			return nil, "o needs the text of your own answer after it"
		}
		return []question.Action{do(question.Open), {Do: question.Write, Text: rest}, do(question.Take)}, ""
	case "n":
		return []question.Action{do(question.Annotate), {Do: question.Write, Text: rest}, do(question.Take)}, ""
	case "s":
		return []question.Action{do(question.Leave), do(question.Skip)}[skipFrom(a):], ""
	case "b":
		return []question.Action{{Do: question.Turn, N: -1}}, ""
	case "d":
		return []question.Action{do(question.Decline), {Do: question.Write, Text: rest}, do(question.Take)}, ""
	case "e":
		return []question.Action{do(question.AskBack), {Do: question.Write, Text: rest}, do(question.Take)}, ""
	case "r":
		return []question.Action{do(question.Recommend)}, ""
	case "fold":
		return []question.Action{do(question.Leave)}, ""
	case "none":
		if !q.MultiSelect {
			return nil, "none is an answer only where several rows can be chosen; s skips the question"
		}
		return []question.Action{do(question.Take), do(question.Take)}, ""
	case "send":
		return []question.Action{do(question.Take)}, ""
	}
	return a.rows(word + rest)
}

// skipFrom leaves the field of a question without options first.
func skipFrom(a *asked) int {
	if a.sheet.Place == question.Own {
		return 0
	}
	return 1
}

// rows reads row numbers, and turns the ticks of the question into exactly those.
func (a *asked) rows(list string) (out []question.Action, problem string) {
	q := a.sheet.Question()
	want := map[int]bool{}
	for field := range strings.SplitSeq(list, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || n < 1 || n > len(q.Options) {
			return nil, fmt.Sprintf("%q is no row of this question; %s", askbridge.Safe(list), answerHelp)
		}
		want[n-1] = true
	}
	if len(want) > 1 && !q.MultiSelect {
		return nil, "one row can be chosen here"
	}
	if !q.MultiSelect {
		for n := range want {
			return []question.Action{{Do: question.Light, N: n}, {Do: question.Take}}, ""
		}
	}
	for i := range q.Options {
		if want[i] != slices.Contains(a.sheet.Draft().Picked, i) {
			out = append(out, question.Action{Do: question.Light, N: i}, question.Action{Do: question.Pick})
		}
	}
	return append(out, question.Action{Do: question.Light, N: 0}, question.Action{Do: question.Take}), ""
}

// effect does what a step asks for and reports whether the ask has left the front.
func (m *mode) effect(ctx context.Context, a *asked, e question.Effect) bool {
	switch {
	case e.Fold:
		a.folded = true
		m.say("  folded; /open shows it again, and a line is a prompt now")
		m.next()
		return true
	case e.Send != nil:
		m.settled(a, e.Send, false, a.ask.Answer(ctx, e.Send))
		return true
	case e.Decline != nil:
		m.settled(a, e.Decline.Partial, true, a.ask.Decline(ctx, e.Decline.Reason, e.Decline.Partial))
		return true
	}
	return false
}

func (m *mode) settled(a *asked, sent []host.Answer, declined bool, err error) {
	var fields *host.FieldErrors
	if errors.As(err, &fields) {
		m.report(fields)
		return
	}
	m.remove(a)
	if err != nil {
		m.say("! not taken: " + strings.ReplaceAll(err.Error(), "_", " "))
		sent, declined = nil, false
	} else {
		m.say("= sent")
	}
	for _, text := range a.sheet.Unsent(sent, declined) {
		m.say("  not sent: " + askbridge.SafeText(text))
	}
	m.next()
}

// save keeps the drafts in the ask, where another surface finds them.
func (m *mode) save(ctx context.Context, a *asked) {
	for i, d := range a.sheet.Drafts {
		d.Rev = a.ask.Draft(i).Rev
		if err := a.ask.SetDraft(ctx, i, d); err != nil {
			return // the ask is over, which will be said
		}
	}
}
