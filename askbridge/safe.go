package askbridge

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Tokens stand between these. The opening one is escaped where it stands in the text itself, which makes the
// mapping injective: what was shown can be read back to what was sent.
const (
	tokenOpen  = '‹'
	tokenClose = '›'
)

// maxMarks is how many combining marks may follow each other. Living languages stack up to three or four; more
// is there to draw over other lines.
const maxMarks = 6

// Safe makes one line of text fit to be shown anywhere: on a terminal, in a title, a notification, a log. Every
// rune outside a positive set (letters, marks, numbers, punctuation, symbols and the plain space) becomes a
// visible token such as ‹ESC› or ‹U+202E›; nothing is dropped and nothing else is passed on. So no control
// character of either set, no bidirectional control, no zero-width or tag character, and no half character
// reaches a terminal. Joined emoji fall apart into their parts, because terminals disagree about their width;
// variation selectors become tokens for the same reason. The result can be read back with Unsafe; applying Safe
// twice escapes twice.
func Safe(s string) string { return safe(s, false) }

// SafeText is Safe for text of several lines: newlines stay.
func SafeText(s string) string { return safe(s, true) }

func safe(s string, newlines bool) string {
	if plain(s, newlines) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	marks := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, "%c0x%02X%c", tokenOpen, s[i], tokenClose)
		case r == '\n' && newlines:
			b.WriteByte('\n')
		case unicode.Is(unicode.M, r) && shown(r):
			if marks++; marks > maxMarks {
				writeToken(&b, r)
			} else {
				b.WriteRune(r)
			}
			i += n
			continue
		case shown(r):
			b.WriteRune(r)
		default:
			writeToken(&b, r)
		}
		marks = 0
		i += n
	}
	return b.String()
}

// plain reports whether a text is its own safe form at a glance.
func plain(s string, newlines bool) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' || c > '~') && (c != '\n' || !newlines) {
			return false
		}
	}
	return true
}

// shown is the positive set.
func shown(r rune) bool {
	switch {
	case r == tokenOpen, r == 0xFFFC, r == 0x2800, r == 0x3164, r == 0xFFA0, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5, r == 0x1D159:
		return false // the token's own sign; and letters, symbols and marks that draw nothing
	case unicode.Is(unicode.Variation_Selector, r), r == 0x034F:
		return false
	case r == ' ':
		return true
	}
	return unicode.IsGraphic(r) && !unicode.Is(unicode.Zs, r)
}

// wellKnown returns the name of a rune that people know by one.
func wellKnown(r rune) string {
	switch r {
	case 0x00:
		return "NUL"
	case 0x07:
		return "BEL"
	case 0x08:
		return "BS"
	case 0x09:
		return "TAB"
	case 0x0A:
		return "LF"
	case 0x0D:
		return "CR"
	case 0x1B:
		return "ESC"
	case 0x7F:
		return "DEL"
	case 0x9B:
		return "CSI"
	case 0x9D:
		return "OSC"
	case 0xA0:
		return "NBSP"
	case 0x200D:
		return "ZWJ"
	case tokenOpen:
		return "<"
	}
	return ""
}

// named are the runes that are wellKnown.
func named() []rune {
	return []rune{0x00, 0x07, 0x08, 0x09, 0x0A, 0x0D, 0x1B, 0x7F, 0x9B, 0x9D, 0xA0, 0x200D, tokenOpen}
}

func writeToken(b *strings.Builder, r rune) {
	b.WriteRune(tokenOpen)
	if name := wellKnown(r); name != "" {
		b.WriteString(name)
	} else {
		fmt.Fprintf(b, "U+%04X", r)
	}
	b.WriteRune(tokenClose)
}

var errNotSafe = errors.New("not a safe text")

// Unsafe reads a safe text back to what was sent. It is an error when neither Safe nor SafeText makes that text.
func Unsafe(s string) (string, error) {
	var b strings.Builder
	for rest := s; rest != ""; {
		before, tokens, found := strings.Cut(rest, string(tokenOpen))
		b.WriteString(before)
		if !found {
			break
		}
		token, after, found := strings.Cut(tokens, string(tokenClose))
		if !found {
			return "", errNotSafe
		}
		if err := readToken(&b, token); err != nil {
			return "", err
		}
		rest = after
	}
	if sent := b.String(); Safe(sent) == s || SafeText(sent) == s {
		return sent, nil
	}
	return "", errNotSafe
}

func readToken(b *strings.Builder, token string) error {
	for _, r := range named() {
		if token == wellKnown(r) {
			b.WriteRune(r)
			return nil
		}
	}
	if digits, ok := strings.CutPrefix(token, "0x"); ok {
		n, err := strconv.ParseUint(digits, 16, 8)
		if err != nil {
			return errNotSafe
		}
		b.WriteByte(byte(n))
		return nil
	}
	digits, ok := strings.CutPrefix(token, "U+")
	n, err := strconv.ParseUint(digits, 16, 32)
	if !ok || err != nil || n > unicode.MaxRune {
		return errNotSafe
	}
	b.WriteRune(rune(n))
	return nil
}
