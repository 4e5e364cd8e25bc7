// Package keys is the one table of keys: what each does, where, and how it is shown.
package keys

import (
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"

	"example.com/kitsoki/tui/cells"
	"example.com/kitsoki/tui/styles"
)

// Map is every binding of the program. A key has one meaning in each place.
type Map struct {
	// everywhere
	Quit, Help, Editor key.Binding

	// composer
	Submit, NewLine, Stop, OpenAsk, Unqueue, PageUp, PageDown, Bottom, Top key.Binding
	Older, Newer, Search, Tools, Sessions, NextSession                     key.Binding

	// a question's list and fields
	Up, Down, Row, Pick, Take, Own, Next, Prev, Skip, Decline, More, Fold key.Binding
	Note, Preview, Filter, Inbox, Peek, Copy, AskBack, Recommended        key.Binding
	Accept, Leave, MoreInField                                            key.Binding
	OptionsUp, OptionsDown, QuestionUp, QuestionDown                      key.Binding

	// a proposal
	Allow, Deny, Start, End key.Binding

	// the list of sessions, and of what is queued
	NewSession, Rename, CloseRow, Continue key.Binding
}

func bind(keys, shown, does string) key.Binding {
	return key.NewBinding(key.WithKeys(strings.Fields(keys)...), key.WithHelp(shown, does))
}

// Default is the table as it comes.
func Default() Map {
	pick := key.NewBinding(key.WithKeys(" "), key.WithHelp("Spc", "pick"))
	return Map{
		Quit: bind("ctrl+c", "^C ^C", "quit"),
		Help: bind("? f1", "?", "all"),

		Editor: bind("ctrl+g", "^G", "editor"),

		Submit:   bind("enter", "Enter", "send"),
		NewLine:  bind("alt+enter ctrl+j", "Alt+Enter", "new line"),
		Stop:     bind("esc", "Esc Esc", "stop"),
		OpenAsk:  bind("ctrl+o", "^O", "open ask"),
		Older:    bind("up", "↑", "earlier prompt, on the first line"),
		Newer:    bind("down", "↓", "later prompt, on the last line"),
		Search:   bind("ctrl+f", "^F", "search the log"),
		Tools:    bind("ctrl+t", "^T", "fold or unfold tool calls"),
		Sessions: bind("ctrl+l", "^L", "sessions"),
		Unqueue:  bind("ctrl+p", "^P", "unqueue"),
		PageUp:   bind("pgup", "PgUp", "older"),
		PageDown: bind("pgdown", "PgDn", "newer"),
		Bottom:   bind("ctrl+end", "^End", "newest"),
		Top:      bind("ctrl+home", "^Home", "oldest"),

		NextSession: bind("ctrl+n", "^N", "next session"),

		Up:           bind("up k", "↑ k", "up"),
		Down:         bind("down j", "↓ j", "down"),
		Row:          bind("1 2 3 4 5 6 7 8 9", "1-9", "row"),
		Pick:         pick,
		Take:         bind("enter", "Enter", "take"),
		Own:          bind("i", "i", "own"),
		Next:         bind("tab", "Tab", "next question"),
		Prev:         bind("shift+tab", "S-Tab", "previous question"),
		Note:         bind("n", "n", "note"),
		Preview:      bind("p", "p", "preview"),
		Filter:       bind("/", "/", "filter"),
		Inbox:        bind("ctrl+o", "^O", "inbox"),
		Peek:         bind("v", "v", "peek"),
		Copy:         bind("y", "y", "copy"),
		AskBack:      bind("e", "e", "ask back"),
		Recommended:  bind("r", "r", "tick what is recommended"),
		Skip:         bind("s", "s", "skip"),
		Decline:      bind("ctrl+x", "^X", "decline"),
		More:         bind("+", "+", "more time"),
		Fold:         bind("esc", "Esc", "fold"),
		Accept:       bind("enter", "Enter", "accept"),
		Leave:        bind("esc", "Esc", "back, kept"),
		MoreInField:  bind("ctrl+t", "^T", "more time"),
		OptionsUp:    bind("pgup", "PgUp", "options up"),
		OptionsDown:  bind("pgdown", "PgDn", "options down"),
		QuestionUp:   bind("ctrl+u", "^U", "question up"),
		QuestionDown: bind("ctrl+d", "^D", "question down"),

		Allow: bind("y", "y", "allow, after Enter"),
		Deny:  bind("d", "d", "deny"),
		Start: bind("home", "Home", "start"),
		End:   bind("end", "End", "end"),

		NewSession: bind("n", "n", "new session"),
		Rename:     bind("r", "r", "rename"),
		CloseRow:   bind("x", "x", "close"),
		Continue:   bind("o", "o", "continue outside"),
	}
}

// As returns the binding under another description, where it says better what the key does now.
func As(b key.Binding, does string) key.Binding {
	b.SetHelp(b.Help().Key, does)
	return b
}

// Line shows as many bindings as fit into w cells, the first ones first, none of them cut. The last one, which
// leads to all the others, always has its place.
func Line(st styles.Styles, w int, bindings ...key.Binding) string {
	if len(bindings) == 0 {
		return ""
	}
	last := bindings[len(bindings)-1]
	room := w - width(last)
	var out strings.Builder
	for _, b := range bindings[:len(bindings)-1] {
		need := width(b) + gap
		if b.Help().Key == "" || need > room {
			continue // a shorter one behind it may fit
		}
		room -= need
		out.WriteString(draw(st, b) + strings.Repeat(" ", gap))
	}
	return out.String() + draw(st, last)
}

const gap = 2

func width(b key.Binding) int { return cells.Width(b.Help().Key + " " + b.Help().Desc) }

func draw(st styles.Styles, b key.Binding) string {
	return st.Key.Render(b.Help().Key) + " " + st.Dim.Render(b.Help().Desc)
}

// Split takes a message of several runes that were read at once apart into one message each, because each was a
// key of its own. A paste stays whole.
func Split(msg tea.KeyMsg) []tea.KeyMsg {
	if msg.Type != tea.KeyRunes || msg.Paste || len(msg.Runes) < 2 {
		return []tea.KeyMsg{msg}
	}
	out := make([]tea.KeyMsg, len(msg.Runes))
	for i, r := range msg.Runes {
		k := tea.Key{Type: tea.KeyRunes, Runes: []rune{r}, Alt: msg.Alt && i == 0}
		if r == ' ' {
			k.Type = tea.KeySpace
		}
		out[i] = tea.KeyMsg(k)
	}
	return out
}

// Printable returns the text that a key types; false for a key that types none.
func Printable(msg tea.KeyMsg) (string, bool) {
	if msg.Alt || (msg.Type != tea.KeyRunes && msg.Type != tea.KeySpace) {
		return "", false
	}
	return string(msg.Runes), true
}
