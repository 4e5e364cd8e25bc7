package question

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/key"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
	"example.com/kitsoki/tui/cells"
	"example.com/kitsoki/tui/keys"
	"example.com/kitsoki/tui/markdown"
)

// Frame is what the screen knows around the ask.
type Frame struct {
	Now      time.Time
	Nth, All int    // which of the open asks this is
	Session  string // its session's title; empty when there is one session only
	Twin     int    // another open ask with the same words; 0: there is none
}

// compact reports whether the screen is too small for rules between the panes and a line of chips.
func (m *Model) compact() bool { return m.height < 18 || m.width < 60 }

// The fixed lines are head, own answer, state and keys; with room also the chips and three rules.
func (m *Model) fixedLines() int {
	switch {
	case m.compact():
		return 5 // head, one rule, own answer, state, keys
	case len(m.sheet.Questions) > 1:
		return 8
	}
	return 7
}

// room is what question and options share.
func (m *Model) room() int {
	return max(2, m.height-m.fixedLines()-(m.ownHeight()-1)-(len(m.stateLines())-1))
}

// questionHeight is a third of what is not fixed, from 2 to 8 lines, more where the options leave room, and never
// more than the question needs.
func (m *Model) questionHeight() int {
	need := len(m.questionLines())
	share := min(max(2, m.room()/3), 8)
	if need > share {
		share = max(share, m.room()-m.optionsNeed())
	}
	return max(1, min(need, share))
}

func (m *Model) optionsHeight() int { return max(1, m.room()-m.questionHeight()) }

// ownHeight is the height of the own answer's row, which grows while it is edited, and of the note's below it.
func (m *Model) ownHeight() int {
	switch {
	case m.Typing():
		return m.area.Height()
	case m.showsNote():
		return 2
	}
	return 1
}

func (m *Model) showsNote() bool {
	return !m.sheet.OnReview() && m.sheet.Draft().Note != "" && !m.compact()
}

func (m *Model) areaMost() int {
	if m.compact() {
		return 2
	}
	return 5
}

// View draws the ask over the whole screen: exactly height lines of at most width cells.
func (m *Model) View(f Frame) string {
	m.twin = f.Twin
	lines := []string{m.head(f)}
	if m.compact() {
		lines = append(lines, m.body()...)
		lines = append(lines, m.rule(join(m.questionMarks(), m.optionsMarks())))
	} else {
		if len(m.sheet.Questions) > 1 {
			lines = append(lines, m.chips())
		}
		lines = append(lines, m.rule(""))
		lines = append(lines, m.body()...)
		lines = append(lines, m.rule(m.optionsMarks()))
	}
	lines = append(lines, m.ownLines()...)
	lines = append(lines, m.stateLines()...)
	lines = append(lines, m.keyLine())
	lines = cells.Fit(lines, m.height)
	for i, l := range lines {
		lines[i] = cells.Cut(l, m.width)
	}
	return strings.Join(lines, "\n")
}

// body is the question over its options, or the review.
func (m *Model) body() []string {
	if m.sheet.OnReview() {
		h := m.room()
		if !m.compact() {
			h++
		}
		return cells.Fit(m.reviewPane(h), h)
	}
	lines := m.questionPane()
	if !m.compact() {
		lines = append(lines, m.rule(m.questionMarks()))
	}
	return append(lines, cells.Fit(strings.Split(m.form.View(), "\n"), m.optionsHeight())...)
}

func (m *Model) head(f Frame) string {
	who := m.info.Asker.Agent
	if len(m.info.Asker.Path) > 0 {
		who += " › " + strings.Join(m.info.Asker.Path, " › ")
	}
	if who == "" {
		who = "an agent"
	}
	if f.Session != "" {
		who = f.Session + ": " + who
	}
	left := fmt.Sprintf(" ask %d of %d · %s", f.Nth, f.All, who)
	if m.compact() {
		left = fmt.Sprintf(" %d/%d %s", f.Nth, f.All, who)
		if n := len(m.sheet.Questions); n > 1 && !m.sheet.OnReview() {
			left += fmt.Sprintf("  Q%d/%d", m.sheet.Focus+1, n)
		}
	}
	if m.ended != "" {
		return m.st.Dim.Render(cells.Spread(left, "ended: "+m.ended+" ", m.width))
	}
	wait := m.info.Deadline.Sub(f.Now)
	right := fmt.Sprintf("waits %s of %s · + more time ", Clock(wait), Clock(m.info.Deadline.Sub(m.info.Opened)))
	if m.compact() {
		right = Clock(wait) + " + "
	}
	if wait < loud {
		if m.st.Plain {
			right = "!! " + right
		}
		right = m.st.Warn.Render(right)
	}
	return cells.Spread(m.st.Title.Render(left), right, m.width)
}

// loud is how long before the deadline the countdown is drawn so that it is noticed.
const loud = 20 * time.Second

// Clock shows a duration as minutes and seconds, rounded up; one that is over is 0:00.
func Clock(d time.Duration) string {
	s := max(0, int((d + time.Second - 1).Seconds()))
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

func (m *Model) rule(mark string) string {
	if mark != "" {
		mark = " " + mark + " --"
	}
	return m.st.Dim.Render(strings.Repeat("-", max(0, m.width-cells.Width(mark))) + mark)
}

func (m *Model) questionLines() []string {
	return markdown.LinesIn(m.st.Strong, m.sheet.Question().Question, max(1, m.width-2), m.st)
}

func (m *Model) questionPane() []string {
	lines, h := m.questionLines(), m.questionHeight()
	m.questionTop = max(0, min(m.questionTop, len(lines)-h))
	out := make([]string, 0, h)
	for _, l := range lines[m.questionTop : m.questionTop+h] {
		out = append(out, " "+l)
	}
	return out
}

// join puts what there is of two marks into one.
func join(a, b string) string {
	if a != "" && b != "" {
		return a + " · " + b
	}
	return a + b
}

func (m *Model) questionMarks() string {
	all, h := len(m.questionLines()), m.questionHeight()
	if all <= h || m.sheet.OnReview() {
		return ""
	}
	if m.compact() {
		return fmt.Sprintf("^U^D %d-%d/%d", m.questionTop+1, m.questionTop+h, all)
	}
	return fmt.Sprintf("question %d-%d of %d lines · ^U ^D", m.questionTop+1, m.questionTop+h, all)
}

// ownLines are the row of the own answer, or the field while it is edited.
func (m *Model) ownLines() []string {
	if m.Typing() {
		return cells.Indent(m.area.View(), m.st.Lit.Render(m.fieldLabel()))
	}
	if m.sheet.OnReview() {
		return []string{""}
	}
	lines := []string{m.ownRow()}
	if m.showsNote() {
		note := strings.ReplaceAll(askbridge.SafeText(m.sheet.Draft().Note), "\n", " / ")
		lines = append(lines, m.st.Dim.Render("   note:       ")+note)
	}
	return lines
}

func (m *Model) ownRow() string {
	d := m.sheet.Draft()
	mark, st := " ", m.st.Dim
	if m.sheet.OnOwnRow() {
		mark, st = ">", m.st.Lit
	}
	line := fmt.Sprintf(" %s own answer: ", mark)
	switch {
	case d.Text == "" && m.sheet.OnOwnRow():
		return st.Render(line + "type it here")
	case d.Text == "":
		return st.Render(line + "-")
	}
	state := "draft"
	if m.sheet.Question().MultiSelect {
		state = "ticked"
	}
	if d.Taken {
		state = "taken"
	}
	text := strings.ReplaceAll(askbridge.SafeText(d.Text), "\n", " / ")
	return cells.Spread(st.Render(line)+text, m.st.Dim.Render(state+" "), m.width)
}

func (m *Model) fieldLabel() string {
	switch {
	case m.sheet.Place == Reason && m.sheet.Back:
		return " explain: "
	case m.sheet.Place == Reason && m.compact():
		return " reason: "
	case m.sheet.Place == Reason:
		return " reason (may be empty): "
	case m.sheet.Place == Note:
		return " note: "
	case m.sheet.Place == Filter:
		return " filter: "
	case m.compact():
		return " own: "
	}
	return " > own answer: "
}

func (m *Model) fieldWidth() int { return max(8, m.width-cells.Width(m.fieldLabel())-1) }

// stateLines is what the last key has to say, on two lines if need be; else how things stand.
func (m *Model) stateLines() []string {
	var warn string
	switch {
	case m.sheet.Notice != "":
		warn = m.sheet.Notice
	case m.ended != "" && m.Typing():
		warn = "This ask is over. Esc closes it; what you type here goes to the prompt."
	case m.ended != "":
		warn = "This ask is over. Esc closes it; what you typed goes to the prompt."
	case m.sheet.Place == Reason:
		warn = "Enter declines all questions of this ask; the agent is told so."
		if m.sheet.Back {
			warn = "Enter declines for now and asks the agent to explain what you write."
		}
	case !m.sheet.OnReview() && m.poses[m.sheet.Focus]:
		standing := m.standing()
		return []string{" " + m.st.Warn.Render(m.grantWords()) + m.st.Dim.Render(strings.TrimSuffix(" · "+standing, " · "))}
	case m.twin > 0:
		return []string{m.st.Warn.Render(" " + m.standing())}
	default:
		return []string{m.st.Dim.Render(" " + m.standing())}
	}
	lines := cells.Wrap(warn, max(1, m.width-2))
	if len(lines) > 2 {
		lines = lines[:2]
	}
	for i, l := range lines {
		lines[i] = m.st.Warn.Render(" " + l)
	}
	return lines
}

// standing says what is chosen and answered, and what went elsewhere.
func (m *Model) standing() string {
	var parts []string
	d := m.sheet.Draft()
	if m.sheet.Question().MultiSelect {
		parts = append(parts, fmt.Sprintf("%d ticked", len(d.Picked)))
	}
	if !m.sheet.Question().MultiSelect && len(d.Picked) > 0 && d.Text != "" {
		parts = append(parts, "the row is the answer, your text goes along as a note")
	}
	if n := len(m.sheet.Questions); n > 1 {
		parts = append(parts, fmt.Sprintf("%d of %d answered", m.sheet.Taken(), n))
	}
	if n := len(m.sheet.Question().Options); m.sheet.Narrow != "" {
		parts = append(parts, fmt.Sprintf("%d of %d rows contain “%s”, Esc shows all", len(m.sheet.Listed()), n, askbridge.Safe(m.sheet.Narrow)))
	}
	if m.info.Reopens != "" && !m.compact() {
		parts = append(parts, "asked again: the agent gets the answer as its next message")
	}
	if m.twin > 0 {
		parts = append(parts, fmt.Sprintf("same words as ask %d", m.twin))
	}
	if m.info.Asker.Dir != "" && (len(parts) == 0 || m.twin > 0) && !m.compact() {
		parts = append(parts, "in "+m.info.Asker.Dir)
	}
	if m.early > 0 {
		parts = append(parts, m.earlyWords())
	}
	return strings.Join(parts, " · ")
}

func (m *Model) earlyWords() string {
	if m.compact() {
		return count(m.early, "key in the prompt", "keys in the prompt")
	}
	return count(m.early, "early key is in the prompt", "early keys are in the prompt")
}

func (m *Model) keyLine() string {
	return " " + keys.Line(m.st, m.width-1, m.Bindings()...)
}

// Bindings are the keys that work now, the most important first and the way to all of them last.
func (m *Model) Bindings() []key.Binding {
	k := m.keys
	several := len(m.sheet.Questions) > 1
	inField := k.Help
	inField.SetHelp("F1", "all")
	var out []key.Binding
	switch {
	case m.ended != "":
		return []key.Binding{keys.As(k.Fold, "close"), k.Copy, k.Help}
	case m.sheet.Place == Reason:
		return []key.Binding{keys.As(k.Accept, m.refusing()), keys.As(k.Leave, "back"), k.NewLine, k.MoreInField, inField}
	case m.sheet.Place == Note, m.sheet.Place == Filter:
		return []key.Binding{keys.As(k.Accept, "save"), keys.As(k.Leave, "back"), k.Editor, inField}
	case m.sheet.Place == Own:
		out = []key.Binding{k.Accept, keys.As(k.Leave, "back"), k.NewLine}
		if several {
			out = append(out, keys.As(k.Next, "question"))
		}
		return append(out, k.Decline, k.Editor, k.MoreInField, inField)
	case m.sheet.OnReview():
		return []key.Binding{keys.As(k.Take, "send"), keys.As(k.Pick, "use or leave"), keys.As(k.Fold, "to the lit one"), keys.As(k.Next, "question"), k.Decline, k.More, k.Peek, k.Copy, k.AskBack, k.Help}
	case m.sheet.OnOwnRow():
		out = []key.Binding{keys.As(k.Take, "type"), keys.As(k.Up, "list")}
		if several {
			out = append(out, keys.As(k.Next, "question"))
		}
		return append(out, k.Fold, k.Decline, inField)
	case m.sheet.Question().MultiSelect && several:
		out = []key.Binding{keys.As(k.Take, "next"), keys.As(k.Pick, "tick")}
	case m.sheet.Question().MultiSelect:
		out = []key.Binding{keys.As(k.Take, "take ticked"), keys.As(k.Pick, "tick")}
	case several:
		out = []key.Binding{keys.As(k.Take, "next"), k.Row}
	default:
		out = []key.Binding{keys.As(k.Take, "send"), k.Row}
	}
	if m.compact() { // digits are written beside the rows
		out = slices.DeleteFunc(out, func(b key.Binding) bool { return b.Help() == k.Row.Help() })
	}
	if several {
		out = append(out, keys.As(k.Next, "question"))
	}
	if m.compact() {
		out = append(out, k.Fold, k.Own, k.Decline)
	} else {
		out = append(out, k.Own, k.Peek, k.Fold, k.Decline)
	}
	if m.hasPreview() {
		out = append(out, k.Preview)
	}
	if several {
		out = append(out, k.Skip)
	}
	out = append(out, k.Note)
	if len(m.sheet.Question().Options) > 9 {
		out = slices.Insert(out, 1, k.Filter)
	}
	if m.compact() {
		out = append(out, k.Peek)
	}
	out = append(out, k.AskBack)
	if slices.ContainsFunc(m.sheet.Questions, func(q host.OperatorQuestion) bool { return slices.ContainsFunc(q.Options, recommended) }) {
		out = append(out, k.Recommended)
	}
	return append(out, k.More, k.Copy, k.Editor, k.Help)
}

// refusing says what Enter does in the field of the reason.
func (m *Model) refusing() string {
	if m.sheet.Back {
		return "ask back"
	}
	return "decline"
}

// AllBindings are all keys that work on this page.
func (m *Model) AllBindings() []key.Binding {
	out := m.Bindings()
	if m.ended != "" || m.Typing() {
		return out
	}
	k := m.keys
	out = append(out, k.Up, k.Down, k.MoreInField)
	if len(m.sheet.Questions) > 1 {
		out = append(out, k.Prev)
	}
	if !m.sheet.OnReview() && len(m.questionLines()) > m.questionHeight() {
		out = append(out, k.QuestionUp, k.QuestionDown)
	}
	out = append(out, k.OptionsUp, k.OptionsDown)
	return out
}
