package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"example.com/kitsoki/askbridge"
)

// redaction finds what the recorder put in the place of a secret.
func redaction() *regexp.Regexp { return regexp.MustCompile(`‹redacted [A-Za-z0-9_-]{1,64}›`) }

// shown makes one line of a trace's text fit for the terminal; shownText keeps its newlines.
func shown(s string) string     { return showText(s, askbridge.Safe) }
func shownText(s string) string { return showText(s, askbridge.SafeText) }

// kept and keptText are for texts that the recorder keeps in their safe form. Those are shown as they are, and
// what only pretends to be one of them is not: a trace is a file that anybody may have written.
func kept(s string) string     { return showText(s, once(askbridge.Safe)) }
func keptText(s string) string { return showText(s, once(askbridge.SafeText)) }

func once(safe func(string) string) func(string) string {
	return func(s string) string {
		if raw, err := askbridge.Unsafe(s); err == nil && safe(raw) == s {
			return s
		}
		return safe(s)
	}
}

func showText(s string, safe func(string) string) string {
	var out strings.Builder
	at := 0
	for _, m := range redaction().FindAllStringIndex(s, -1) {
		out.WriteString(safe(s[at:m[0]]) + s[m[0]:m[1]])
		at = m[1]
	}
	out.WriteString(safe(s[at:]))
	return out.String()
}

// printJSON prints one value on one line, in ASCII: JSON lets every rune be escaped, so nothing is changed for a
// program, and nothing but plain characters reaches a terminal.
func printJSON(out io.Writer, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = out.Write(append(asciiJSON(data), '\n'))
	return err
}

func asciiJSON(data []byte) []byte {
	var out bytes.Buffer
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		switch {
		case r < 0x7F:
			out.WriteByte(byte(r))
		case r > 0xFFFF:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
		data = data[n:]
	}
	return out.Bytes()
}
