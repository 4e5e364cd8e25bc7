package keys

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"
)

// parseKey returns a key as bubbletea names it when it arrives. An error says why no terminal sends it.
func parseKey(name string) (string, error) {
	alt, base := "", name
	if rest, ok := strings.CutPrefix(name, "alt+"); ok && rest != "" {
		alt, base = "alt+", rest
	}
	if base == "space" {
		base = " "
	}
	if r, n := utf8.DecodeRuneInString(base); n == len(base) && n > 0 && r != utf8.RuneError && unicode.IsPrint(r) {
		return alt + base, nil
	}
	if slices.Contains(keyNames(), base) {
		return alt + base, nil
	}
	if arrives, ok := otherNames()[base]; ok {
		return "", fmt.Errorf("%q arrives as %s; name that", name, alt+arrives)
	}
	if same := nearest(strings.ToLower(base), keyNames(), 1); same[0] == strings.ToLower(base) || distance(strings.ToLower(base), same[0]) == 1 {
		return "", fmt.Errorf("%q is no key a terminal sends; did you mean %s?", name, alt+same[0])
	}
	return "", fmt.Errorf("%q is no key a terminal sends; use one such as a, ctrl+a, alt+a, f2, pgup or space", name)
}

// keyNames are the keys that bubbletea tells apart by name, without those that are a character.
func keyNames() []string {
	var out []string
	for t := tea.KeyF20; t <= tea.KeyCtrlQuestionMark; t++ {
		if name := t.String(); name != "" && name != " " && t != tea.KeyRunes {
			out = append(out, name)
		}
	}
	return out
}

// otherNames are names that people know keys by, with the name that arrives: in a terminal some keys are the same.
func otherNames() map[string]string {
	return map[string]string{
		"ctrl+i": "tab", "ctrl+m": "enter", "ctrl+[": "esc", "ctrl+?": "backspace", "ctrl+space": "ctrl+@",
		"escape": "esc", "return": "enter", "pageup": "pgup", "pagedown": "pgdown", "page_up": "pgup",
		"page_down": "pgdown", "pgdn": "pgdown", "del": "delete", "ins": "insert", "backtab": "shift+tab",
	}
}

// prints reports whether a key, as parseKey returns it, types a character where something is typed.
func prints(key string) bool { return utf8.RuneCountInString(key) == 1 }

// edits reports whether a text cannot be written without the key.
func edits(key string) bool {
	return slices.Contains([]string{"backspace", "delete", "left", "right"}, key)
}

// shown is how the screen shows keys: the first two of them, a row of digits as a range.
func shown(keys []string) string {
	const digits = "123456789"
	if row := strings.Join(keys, ""); len(keys) > 2 && strings.Contains(digits, row) {
		return keys[0] + "-" + keys[len(keys)-1]
	}
	var out []string
	for _, k := range keys[:min(2, len(keys))] {
		out = append(out, label(k))
	}
	return strings.Join(out, " ")
}

// label is how the screen shows one key.
func label(key string) string {
	signs := map[string]string{
		" ": "Spc", "up": "↑", "down": "↓", "left": "←", "right": "→", "pgup": "PgUp", "pgdown": "PgDn",
	}
	sign, named := signs[key]
	switch rest, mod := key, ""; {
	case named:
		return sign
	case prints(key):
		return key
	default:
		for _, m := range [][2]string{{"alt+", "Alt+"}, {"ctrl+", "^"}, {"shift+", "S-"}} {
			if after, ok := strings.CutPrefix(rest, m[0]); ok {
				rest, mod = after, mod+m[1]
			}
		}
		if sign, named := signs[rest]; named {
			return mod + sign
		}
		if strings.HasSuffix(mod, "^") || len(rest) > 1 {
			rest = strings.ToUpper(rest[:1]) + rest[1:]
		}
		return mod + rest
	}
}

// nearest returns the n words that a wrong word is likeliest to have meant, the likeliest first.
func nearest(wrong string, words []string, n int) []string {
	out := slices.Clone(words)
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(cmp.Compare(distance(wrong, a), distance(wrong, b)), cmp.Compare(a, b))
	})
	return out[:min(n, len(out))]
}

// distance counts the characters to put in, leave out, change or swap with the next to make b of a.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	var before, last []int // the two rows above
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(x); i++ {
		before, last, row = last, row, make([]int, len(y)+1)
		row[0] = i
		for j := 1; j <= len(y); j++ {
			change := 1
			if x[i-1] == y[j-1] {
				change = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+change)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
	}
	return row[len(y)]
}
