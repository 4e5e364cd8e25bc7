package question

import (
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/huh"

	"example.com/kitsoki/host"
	"example.com/kitsoki/tui/field"
	"example.com/kitsoki/tui/keys"
	"example.com/kitsoki/tui/styles"
)

// ExtendBy is how much time one press of "more time" adds.
const ExtendBy = 2 * time.Minute

// Model is one ask on the screen. It is not a tea.Model: the program calls Key and View, and does what comes
// back from Key.
type Model struct {
	info  host.AskInfo
	sheet Sheet
	keys  keys.Map
	st    styles.Styles

	form *huh.Form // of the focused question; nil on the review
	last Effect    // what the last key in the form's field asked for
	area field.Model

	width, height int
	early         int // keys that came too early and went to the composer
	questionTop   int // first visible line of the question
	optionsTop    int // first visible line of the options
	inside        int // lines scrolled within a lit row that is taller than its pane
	reviewTop     int // first visible line of the review
	preview       bool
	previewTop    int // first visible line of the preview
	ended         string
	twin          int // another open ask with the same words, as of the last frame

	droppedAt time.Time // when a key was not taken last
}

// NewModel shows an ask with the drafts it has.
func NewModel(info host.AskInfo, drafts []host.Draft, km keys.Map, st styles.Styles) *Model {
	m := &Model{info: info, sheet: New(info.Questions, drafts), keys: km, st: st, area: field.New(km.NewLine, st.Plain)}
	m.follow(Sheet{Focus: -1})
	return m
}

// Info returns the ask as it was last told to the model.
func (m *Model) Info() host.AskInfo { return m.info }

// SetInfo takes over a new deadline or asker.
func (m *Model) SetInfo(info host.AskInfo) { m.info = info }

// Sheet returns what the operator has made of the ask.
func (m *Model) Sheet() Sheet { return m.sheet }

// Early notes that one more key came too early and went to the composer; Forget that they are gone from there.
func (m *Model) Early() {
	m.early++
	m.Say("")
}

// Dropped notes that a key came too early and was not taken.
func (m *Model) Dropped(now time.Time) {
	if m.early == 0 && m.ended == "" && !m.sheet.warned { // early keys are sign enough, and a warning stays in view
		m.sheet.Notice, m.droppedAt = tooQuick, now
	}
}

const tooQuick = "too quick: that key was not taken"

// Settle takes a notice away that was about a moment which is over.
func (m *Model) Settle(now time.Time) {
	if m.sheet.Notice == tooQuick && now.Sub(m.droppedAt) >= momentary {
		m.sheet.Notice = ""
	}
}

// momentary is how long what is said of a key that was not taken stays.
const momentary = 2 * time.Second

// Forget is the opposite of Early.
func (m *Model) Forget() { m.early = 0 }

// End greys the ask out: it is over, and why. What was typed stays to be copied.
func (m *Model) End(why string) { m.ended = why }

// Ended reports whether the ask is over.
func (m *Model) Ended() bool { return m.ended != "" }

// Typing reports whether a text field has the keyboard.
func (m *Model) Typing() bool {
	switch m.sheet.Place {
	case Own, Reason, Note, Filter:
		return true
	}
	return false
}

// textual reports whether a printable key is text.
func (m *Model) textual() bool { return m.Typing() || m.sheet.OnOwnRow() }

// Text is what stands in the field that has the keyboard, and SetText replaces it: for an editor outside.
func (m *Model) Text() string { return m.area.Value() }

// SetText is the opposite of Text.
func (m *Model) SetText(text string) {
	before := m.sheet
	m.do(Action{Do: Write, Text: text})
	m.follow(before)
}

// OpenField puts the keyboard into the own answer's field, unless a field has it already.
func (m *Model) OpenField() {
	before := m.sheet
	if !m.Typing() {
		m.do(Action{Do: Open})
	}
	m.follow(before)
}

// Resize gives the ask the whole screen of this size.
func (m *Model) Resize(width, height int) {
	m.width, m.height = width, height
	m.area.Resize(m.fieldWidth(), m.areaMost())
	m.newForm()
}

// KeyAfterEnd takes a key for an ask that is over: the field, if one has the keyboard, goes on taking text, so that
// what is being typed stays together. It reports whether the key was taken.
func (m *Model) KeyAfterEnd(msg tea.KeyMsg) bool {
	if !m.Typing() || m.sheet.Place == Filter || key.Matches(msg, m.keys.Leave) || (key.Matches(msg, m.keys.Accept) && !msg.Paste) {
		return false
	}
	m.fieldKey(msg)
	return true
}

// Asked is what a key asks of the program.
type Asked struct {
	Effect
	Extend time.Duration
	Copy   string // for the clipboard
}

// Key does what a key means on this page. Keys that mean something everywhere are the program's.
func (m *Model) Key(msg tea.KeyMsg) Asked {
	if msg.Paste {
		msg.Runes = []rune(field.Normal(string(msg.Runes)))
	}
	before, height := m.sheet, m.area.Height()
	asked := m.dispatch(msg)
	if asked.Finished {
		var next Effect
		m.sheet, next = m.sheet.Advance()
		next.Finished = true
		asked.Effect = next
	}
	m.follow(before)
	if m.width > 0 && (m.area.Height() != height || m.sheet.Narrow != before.Narrow) {
		m.newForm() // the field takes its lines from the options, or narrows them
	}
	return asked
}

func (m *Model) dispatch(msg tea.KeyMsg) Asked {
	k := m.keys
	switch {
	case key.Matches(msg, k.Next):
		return m.do(Action{Do: Turn, N: 1})
	case key.Matches(msg, k.Prev):
		return m.do(Action{Do: Turn, N: -1})
	case key.Matches(msg, k.Decline):
		return m.do(Action{Do: Decline})
	case !m.textual() && key.Matches(msg, k.Copy):
		return Asked{Copy: m.CopyText()}
	case m.Typing():
		return m.fieldKey(msg)
	case key.Matches(msg, k.More) && !m.sheet.OnOwnRow(), key.Matches(msg, k.MoreInField):
		return Asked{Extend: ExtendBy}
	case m.sheet.OnReview():
		return Asked{Effect: m.listKey(msg)}
	}
	m.last = Effect{}
	completed := m.step(msg)
	m.last.Finished = completed // the form has the last word
	return Asked{Effect: m.last}
}

func (m *Model) do(a Action) Asked {
	var e Effect
	m.sheet, e = m.sheet.Reduce(a)
	return Asked{Effect: e}
}

// listKey does what a key means on a list of options or on the review.
func (m *Model) listKey(msg tea.KeyMsg) Effect {
	k := m.keys
	a := Action{}
	text, printable := keys.Printable(msg)
	switch {
	case msg.Paste && !m.sheet.OnReview():
		a = Action{Do: Open, Text: text}
	case key.Matches(msg, k.AskBack) && !m.sheet.OnOwnRow():
		a = Action{Do: AskBack}
	case key.Matches(msg, k.Recommended) && !m.sheet.OnOwnRow():
		a = Action{Do: Recommend}
	case m.sheet.OnOwnRow() && printable:
		a = Action{Do: Open, Text: strings.TrimPrefix(text, " ")} // the space bar opens the field like everything else
	case key.Matches(msg, k.Up):
		a = Action{Do: Move, N: -1}
	case key.Matches(msg, k.Down):
		a = Action{Do: Move, N: 1}
	case key.Matches(msg, k.Row):
		a = Action{Do: Light, N: int(msg.Runes[0] - '1')}
	case key.Matches(msg, k.Pick):
		a = Action{Do: Pick}
	case key.Matches(msg, k.Take):
		a = Action{Do: Take}
	case key.Matches(msg, k.Own):
		a = Action{Do: Open}
	case key.Matches(msg, k.Skip):
		a = Action{Do: Skip}
	case key.Matches(msg, k.Note):
		a = Action{Do: Annotate}
	case key.Matches(msg, k.Filter):
		a = Action{Do: Search}
	case key.Matches(msg, k.Preview) && m.hasPreview():
		m.preview, m.previewTop = !m.preview, 0
	case key.Matches(msg, k.Fold) && m.preview:
		m.preview = false
	case key.Matches(msg, k.Fold):
		a = Action{Do: Leave}
	case key.Matches(msg, k.OptionsUp):
		m.scrollOptions(-1)
	case key.Matches(msg, k.OptionsDown):
		m.scrollOptions(1)
	case key.Matches(msg, k.QuestionUp):
		m.questionTop -= max(1, m.questionHeight()-1)
	case key.Matches(msg, k.QuestionDown):
		m.questionTop += max(1, m.questionHeight()-1)
	}
	return m.do(a).Effect
}

// fieldKey does what a key means in the field of the own answer or of the reason.
func (m *Model) fieldKey(msg tea.KeyMsg) Asked {
	k := m.keys
	switch {
	case !msg.Paste && key.Matches(msg, k.Accept):
		return m.do(Action{Do: Take})
	case key.Matches(msg, k.Leave):
		return m.do(Action{Do: Leave})
	case key.Matches(msg, k.MoreInField):
		return Asked{Extend: ExtendBy}
	}
	m.area.Key(msg)
	return m.do(Action{Do: Write, Text: m.area.Value()})
}

// follow brings field, form and scrolling in line with the sheet after it changed.
func (m *Model) follow(before Sheet) {
	s := m.sheet
	if s.Focus != before.Focus {
		m.questionTop, m.optionsTop, m.preview = 0, 0, false
	}
	if s.Focus != before.Focus || s.LitRow() != before.LitRow() {
		m.inside, m.reviewTop, m.previewTop = 0, -1, 0
	}
	if text := m.fieldText(); m.area.Value() != text {
		m.area.Set(text)
	}
	if m.Typing() {
		m.area.Focus()
	} else {
		m.area.Blur()
	}
	if m.width > 0 && (s.Focus != before.Focus || s.Place != before.Place || m.form == nil || m.form.State != huh.StateNormal) {
		m.Resize(m.width, m.height)
	}
}

// fieldText is what stands in the field that the focused page shows.
func (m *Model) fieldText() string {
	switch m.sheet.Place {
	case Reason:
		return m.sheet.Reason
	case Note:
		return m.sheet.Draft().Note
	case Filter:
		return m.sheet.Narrow
	}
	return m.sheet.Draft().Text
}

// Say puts a message into the state line until the next key. A warning that it takes the place of has to be given
// again: nobody consents to what cannot be read.
func (m *Model) Say(text string) { m.sheet.Notice, m.sheet.warned = text, false }

// SetDraft takes over the draft of a question that was made on another surface.
func (m *Model) SetDraft(question int, d host.Draft) {
	before := m.sheet
	m.sheet.Drafts = slices.Clone(m.sheet.Drafts)
	m.sheet.Drafts[question] = d
	m.sheet.warned = false
	m.redraw(before)
}
