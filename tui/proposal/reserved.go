package proposal

import (
	"fmt"
	"strings"
)

// The signs of the frame. They are reserved: [Unframed] takes them out of every other page, and in the text of a
// proposal they stand as tokens.
const (
	bar     = "║ "
	topLeft = "╔═ "
	crossed = "╠"
	bottom  = "╚ "
	across  = "═"
)

// Word is what the head of a proposal begins with, and the mark of its row in lists.
const Word = "PROPOSAL"

// reserved reports whether a rune is of the block that frames are drawn with: double lines, and double with single ones.
func reserved(r rune) bool { return r >= '═' && r <= '╬' }

// Unframed is a page as it is drawn when it is none of a proposal: the reserved signs in it, which can only come from an
// agent or from a text that was typed, become plain ones of the same width.
func Unframed(page string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case !reserved(r):
			return r
		case r == '═':
			return '-'
		case r == '║':
			return '|'
		}
		return '+'
	}, page)
}

// tokens writes the reserved signs in a safe text as askbridge.Safe writes what cannot be shown. Safe never writes these
// tokens itself, so that it is plain what stands for what.
func tokens(safe string) string {
	if strings.IndexFunc(safe, reserved) < 0 {
		return safe
	}
	var b strings.Builder
	for _, r := range safe {
		if reserved(r) {
			fmt.Fprintf(&b, "‹U+%04X›", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}
