package signals

import (
	"encoding/base64"
	"fmt"
	"strings"
	"unicode/utf8"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/tui/cells"
)

// OSC is the operating system command that the terminal takes as a notification.
type OSC int

// The notifications: 9 is iTerm2's, which Windows Terminal, ghostty, kitty and WezTerm know as well; 777 is
// urxvt's, which foot, ghostty and WezTerm know as well. A terminal that knows neither ignores them.
const (
	OSCOff OSC = 0
	OSC9   OSC = 9
	OSC777 OSC = 777
)

// ParseOSC reads off, 9 or 777.
func ParseOSC(s string) (OSC, error) {
	switch s {
	case "off":
		return OSCOff, nil
	case "9":
		return OSC9, nil
	case "777":
		return OSC777, nil
	}
	return OSCOff, fmt.Errorf("there is no notification %q; use off, 9 or 777", s)
}

// How much of a text is passed on. CopyLimit keeps the whole sequence below the 100,000 bytes that terminals take.
const (
	titleCells = 60
	bodyCells  = 200
	CopyLimit  = 74_000 // bytes of text that Copy takes
)

const (
	esc = "\x1b"
	bel = "\a"
)

// InTmux reports whether the terminal is one of tmux, by the environment. tmux passes sequences on only when they
// are wrapped and its allow-passthrough is on; the bell it always passes on.
func InTmux(getenv func(string) string) bool { return getenv("TMUX") != "" }

// Bell is what rings the terminal's bell.
func Bell() string { return bel }

// Notify is what makes the terminal show a notification; nothing for OSCOff. The texts may be an agent's: they are
// made safe, put into one line, and cut.
func Notify(kind OSC, title, body string, tmux bool) string {
	title, body = line(title, titleCells), line(body, bodyCells)
	switch kind {
	case OSC9:
		if title != "" && body != "" {
			title += ": "
		}
		return frame("9;"+title+body, tmux)
	case OSC777:
		return frame("777;notify;"+title+";"+body, tmux)
	}
	return ""
}

// Copy is what makes the terminal put a text into its clipboard, where it permits that; nothing for an empty text,
// which would wipe the clipboard. Lines and tabs stay; whatever else could act where it is pasted is made safe. A
// text of more than CopyLimit bytes is cut there.
func Copy(text string, tmux bool) string {
	parts := strings.Split(head(text, CopyLimit), "\t")
	for i, part := range parts {
		parts[i] = once(part)
	}
	text = head(strings.Join(parts, "\t"), CopyLimit) // a safe text can be longer
	if text == "" {
		return ""
	}
	return frame("52;c;"+base64.StdEncoding.EncodeToString([]byte(text)), tmux)
}

// frame makes a command of its content. BEL ends it, as every terminal knows; for tmux it is wrapped, each ESC
// doubled.
func frame(content string, tmux bool) string {
	osc := esc + "]" + content + bel
	if !tmux {
		return osc
	}
	return esc + "Ptmux;" + strings.ReplaceAll(osc, esc, esc+esc) + esc + `\`
}

// line makes one short line. A semicolon would end a field of 777, and after a digit make another command of 9.
func line(text string, w int) string {
	text = head(text, 16*w) // a cell can take many bytes, but a text must not take all day
	text = once(strings.Join(strings.Fields(text), " "))
	return cells.Cut(strings.ReplaceAll(text, ";", ","), w)
}

// once makes a text safe that may be safe already, without doing it twice: a text in which nothing but the signs
// of tokens themselves would change stays. Newlines stay as well.
func once(text string) string {
	bare := strings.NewReplacer("‹", "", "›", "").Replace(text)
	if askbridge.SafeText(bare) == bare {
		return text
	}
	return askbridge.SafeText(text)
}

// head cuts a text to n bytes, between two characters.
func head(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
