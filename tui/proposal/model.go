package proposal

import (
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"example.com/kitsoki/host"
	"example.com/kitsoki/tui/field"
	"example.com/kitsoki/tui/keys"
	"example.com/kitsoki/tui/question"
	"example.com/kitsoki/tui/styles"
)

// stage is what the keyboard works on.
type stage int

const (
	reading stage = iota // the text and the rows
	sure                 // Enter was pressed on a row that allows: one key allows, all others lead back
	reason               // the field of a denial's reason
)

// Model is one proposal on the screen.
//
// A yes takes two keys. The first, Enter on a row that allows, works once the end of the text was on the screen and the
// keyboard has rested since; the second is another key, and works once the keyboard has rested since the first. So what
// was on its way to something else, a paste, a burst and a key that is held down cannot be both.
type Model struct {
	info  host.AskInfo
	p     host.Proposal
	text  string // of it, as it is drawn: with the reserved signs as tokens
	mixed bool   // some of it is written from right to left
	rows  []host.OperatorOption
	keys  keys.Map
	st    styles.Styles
	area  field.Model // the reason

	width, height int
	lit           int // a row
	top           int // the first row of the document in view
	stage         stage
	second        question.Guard // before the second key
	swallowed     string         // second keys that came too early, in case more text follows

	seen  bool           // the end of the text was on the screen
	endAt time.Time      // since when it has been there; zero: it is not
	fresh question.Guard // before the first key, from when the end came into view
	shown []bool         // which bytes of the text were in a frame

	early     int // keys that came too early and went to the prompt
	notice    string
	droppedAt time.Time
	ended     string
	frame     Frame // the last one

	doc document // for docFor
	fit docFor
}

// docFor is what a document was made for.
type docFor struct {
	width       int
	inside, cut bool
}

// New shows the proposal of an ask of kind host.KindProposal.
func New(info host.AskInfo, km keys.Map, st styles.Styles) *Model {
	p, rows := Of(info), Rows(info)
	text := tokens(p.Text)
	if p.Diff { // in whose lines the tokens would be in the way
		text = strings.ReplaceAll(text, "‹TAB›", "⇥   ")
	}
	return &Model{
		info: info, p: p, text: text, rows: rows, lit: max(0, Default(rows)), keys: km, st: st, area: field.New(km.NewLine, st.Plain),
		shown: make([]bool, len(text)), mixed: strings.ContainsFunc(p.Text, backwards),
	}
}

// Info returns the ask as it was last told to the model.
func (m *Model) Info() host.AskInfo { return m.info }

// SetInfo takes over a new deadline or asker.
func (m *Model) SetInfo(info host.AskInfo) {
	if Who(info) != Who(m.info) {
		m.back()
		m.doc = document{} // it names the asker
	}
	m.info = info
}

// Asked is what a key asks of the program.
type Asked struct {
	question.Asked
	Early string // text that came too early, and is the prompt's
}

// Confirming reports whether the next key may be the one that allows.
func (m *Model) Confirming() bool { return m.stage == sure }

// Typing reports whether the field of the reason has the keyboard.
func (m *Model) Typing() bool { return m.stage == reason }

// Key does what a key means here, by when it was pressed. Keys that mean something everywhere are the program's.
func (m *Model) Key(msg tea.KeyMsg, s question.Stroke) Asked {
	if m.stage == sure {
		return m.sureKey(msg, s)
	}
	m.notice = ""
	rested := m.fresh.Admit(s, false) && !s.Among
	if m.stage == reason {
		return Asked{Asked: m.reasonKey(msg)}
	}
	return Asked{Asked: m.readingKey(msg, s, rested)}
}

// sureKey takes the second key. What comes too early to be one leads back as well, the first key's own repeats aside.
func (m *Model) sureKey(msg tea.KeyMsg, s question.Stroke) Asked {
	allow := !msg.Paste && key.Matches(msg, m.keys.Allow)
	if !m.second.Admit(s, false) || s.Among {
		text, printable := keys.Printable(msg)
		switch {
		case allow:
			m.notice, m.swallowed = tooQuick, m.swallowed+text
		case printable:
			text = m.swallowed + text
			m.back()
			return Asked{Early: text}
		case !key.Matches(msg, m.keys.Take):
			m.back()
		}
		return Asked{}
	}
	row := m.lit
	m.back()
	if !allow || !m.allows(row) || !m.EndShown() {
		return Asked{}
	}
	return answer(row)
}

func answer(row int) Asked {
	var a Asked
	a.Send = []host.Answer{{Picked: []int{row}}}
	return a
}

func (m *Model) reasonKey(msg tea.KeyMsg) question.Asked {
	var a question.Asked
	switch k := m.keys; {
	case !msg.Paste && key.Matches(msg, k.Accept):
		a.Decline = &question.Refusal{Reason: m.area.Value()}
	case !msg.Paste && key.Matches(msg, k.Leave):
		m.stage = reading
		m.area.Blur()
	case !msg.Paste && key.Matches(msg, k.MoreInField):
		a.Extend = question.ExtendBy
	default:
		m.area.Key(msg)
	}
	return a
}

func (m *Model) readingKey(msg tea.KeyMsg, s question.Stroke, rested bool) (a question.Asked) {
	page := max(1, m.bodyHeight()-1)
	switch k := m.keys; {
	case msg.Paste:
	case key.Matches(msg, k.Deny) && !s.Among: // a word is no key
		return m.Deny()
	case key.Matches(msg, k.Take):
		return m.take(s, rested)
	case key.Matches(msg, k.Row):
		m.light(int(msg.Runes[0] - '1'))
	case key.Matches(msg, k.Decline):
		m.OpenReason()
	case key.Matches(msg, k.More):
		a.Extend = question.ExtendBy
	case key.Matches(msg, k.Fold):
		a.Fold = true
	case key.Matches(msg, k.Up):
		m.scroll(-1, s.Now)
	case key.Matches(msg, k.Down):
		m.scroll(1, s.Now)
	case key.Matches(msg, k.OptionsUp):
		m.scroll(-page, s.Now)
	case key.Matches(msg, k.OptionsDown):
		m.scroll(page, s.Now)
	case key.Matches(msg, k.QuestionUp):
		m.scroll(-max(1, page/2), s.Now)
	case key.Matches(msg, k.QuestionDown):
		m.scroll(max(1, page/2), s.Now)
	case key.Matches(msg, k.Start):
		m.top = 0
	case key.Matches(msg, k.End):
		m.scroll(len(m.document().rows), s.Now)
	}
	return a
}

// take does what Enter means on the lit row.
func (m *Model) take(s question.Stroke, rested bool) (a question.Asked) {
	switch {
	case !m.allows(m.lit):
		return m.Deny()
	case !m.EndShown():
		m.notice = m.readFirst()
	case !rested:
		m.notice = tooQuick
	default:
		m.stage, m.swallowed = sure, ""
		m.second.Arm(s.Now)
	}
	return a
}

// Deny answers with the row that refuses. It takes no second key.
func (m *Model) Deny() question.Asked {
	m.back()
	if row := DenyRow(m.rows); row >= 0 {
		return answer(row).Asked
	}
	var a question.Asked
	a.Decline = &question.Refusal{}
	return a
}

// OpenReason puts the keyboard into the field of a denial's reason.
func (m *Model) OpenReason() {
	m.back()
	m.stage = reason
	m.area.Focus()
	m.Resize(m.width, m.height)
}

func (m *Model) light(n int) {
	if n >= len(m.rows) {
		return
	}
	if m.lit = n; m.allows(n) && !m.EndShown() {
		m.notice = m.readFirst()
	}
}

// allows reports whether a row allows what the host proposes. Without a proposal there is nothing to allow.
func (m *Model) allows(row int) bool {
	return m.info.Proposal != nil && row >= 0 && row < len(m.rows) && Allows(m.rows[row].Label)
}

// scroll moves the window by rows. On its way down it does not pass the end of the text before that has been there.
func (m *Model) scroll(n int, now time.Time) {
	d, h := m.document(), m.bodyHeight()
	if len(d.rows) <= h && len(m.rows) > 1 {
		m.notice = "all of it is in view; digits light rows"
	}
	to := m.top + n
	if there := m.seen || (!m.endAt.IsZero() && now.Sub(m.endAt) >= glance); !there {
		to = min(to, max(m.top, d.end-h))
	}
	m.top = to
	m.clamp()
}

func (m *Model) clamp() { m.top = max(0, min(m.top, len(m.document().rows)-m.bodyHeight())) }

func (m *Model) readFirst() string { return "read to the end first: " + shown(m.keys.OptionsDown) }

// back takes the first of the two keys back.
func (m *Model) back() {
	if m.stage == sure {
		m.stage = reading
	}
	m.notice, m.swallowed = "", ""
}

// glance is how long the end of the text has to stay on the screen to have been there: less is scrolled past, and need
// not be drawn at all.
const glance = 100 * time.Millisecond

// EndShown reports whether the end of the text is on the screen, or was there.
func (m *Model) EndShown() bool { return m.seen || !m.endAt.IsZero() }

// unread counts the rows of the text that were never in a frame, though its end was.
func (m *Model) unread() int {
	n := 0
	for _, r := range m.document().rows {
		if slices.Contains(m.shown[r.from:r.to], false) {
			n++
		}
	}
	return n
}

// look notes whether the end of the text is in a frame.
func (m *Model) look(now time.Time, end bool) {
	switch {
	case m.seen:
	case end && m.endAt.IsZero():
		m.endAt = now
		m.fresh.Arm(now)
	case !end && !m.endAt.IsZero():
		m.seen = now.Sub(m.endAt) >= glance
		m.endAt = time.Time{}
	}
}

// Away is called when the proposal is covered, or what is on the screen has become doubtful: the first key is taken
// back, and the end of the text counts if it was there for long enough.
func (m *Model) Away(now time.Time) {
	m.back()
	m.look(now, false)
}

// Early notes that one more key came too early and went to the prompt; Forget that they are gone from there.
func (m *Model) Early() {
	m.early++
	m.Say("")
}

// Forget is the opposite of Early.
func (m *Model) Forget() { m.early = 0 }

// Dropped notes that a key came too early and was not taken.
func (m *Model) Dropped(now time.Time) {
	if m.early == 0 && m.ended == "" {
		m.notice, m.droppedAt = tooQuick, now
	}
}

const tooQuick = "too quick: that key was not taken"

// Settle takes a notice away that was about a moment which is over.
func (m *Model) Settle(now time.Time) {
	if m.notice == tooQuick && now.Sub(m.droppedAt) >= momentary {
		m.notice = ""
	}
}

const momentary = 2 * time.Second

// Say puts a message into the state line until the next key. It takes the first of the two keys back: nobody consents to
// what cannot be read.
func (m *Model) Say(text string) {
	m.back()
	m.notice = text
}

// End greys the proposal out: it is over, and why.
func (m *Model) End(why string) {
	m.back()
	m.ended = why
}

// Ended reports whether the proposal is over; Ending says how.
func (m *Model) Ended() bool { return m.ended != "" }

// Ending says how the proposal ended; empty while it is open.
func (m *Model) Ending() string { return m.ended }

// Drafted reports whether the operator has begun with it.
func (m *Model) Drafted() bool { return strings.TrimSpace(m.area.Value()) != "" }

// Unsent are the texts that the operator typed and that did not go out.
func (m *Model) Unsent(_ []host.Answer, declined bool) []string {
	if declined || !m.Drafted() {
		return nil
	}
	return []string{m.area.Value()}
}

// KeyAfterEnd takes a key for a proposal that is over: the field, if it has the keyboard, goes on taking text.
func (m *Model) KeyAfterEnd(msg tea.KeyMsg) bool {
	if !m.Typing() || (!msg.Paste && key.Matches(msg, m.keys.Leave, m.keys.Accept)) {
		return false
	}
	m.area.Key(msg)
	return true
}

// CopyText is what a copy takes: the operator's own words of a proposal that is over, else what would run.
func (m *Model) CopyText() string {
	if m.Ended() && m.Drafted() {
		return m.area.Value()
	}
	return m.p.Text
}

// Text is what stands in the field of the reason, and SetText replaces it: for an editor outside.
func (m *Model) Text() string { return m.area.Value() }

// SetText is the opposite of Text.
func (m *Model) SetText(text string) { m.area.Set(text) }

// OpenField puts the keyboard into the field of the reason.
func (m *Model) OpenField() { m.OpenReason() }
