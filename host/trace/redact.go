package trace

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"example.com/kitsoki/askbridge"
)

// minSecret is the length in bytes from which the value of a variable counts as a secret: shorter ones occur in
// ordinary text.
const minSecret = 8

// minSecretLine is the same for one line of a value of several lines, such as a key file.
const minSecretLine = 16

// maxNested is how deep texts are searched that are JSON inside a JSON string.
const maxNested = 3

// Redactor replaces secrets by ‹redacted NAME›: the values of variables whose names look secret, in every form
// in which they can stand in what kitsoki writes, and whatever has the shape of a well-known kind of token. It
// cannot see a secret that is spelled in pieces. It is safe for concurrent use.
type Redactor struct {
	values *strings.Replacer
	digits map[string]string // secrets that can stand in JSON as a number
	shapes []shape
}

// shape is a kind of token. Its pattern is tried only on texts in which one of the marks occurs.
type shape struct {
	name    string
	marks   []string
	pattern *regexp.Regexp
}

// NewRedactor takes the secrets from an environment (KEY=value).
func NewRedactor(environ []string) *Redactor {
	r := &Redactor{shapes: shapes(), digits: map[string]string{}}
	names := map[string]string{}
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if !secretName(name) || len(value) < minSecret {
			continue
		}
		mark := redacted(name)
		for _, form := range forms(value) {
			names[form] = mark
		}
		if strings.Trim(value, "0123456789") == "" {
			r.digits[value] = mark
		}
	}
	all := make([]string, 0, len(names))
	for form := range names {
		all = append(all, form)
	}
	// Of two secrets that begin alike the longer one goes first, or its rest would stay.
	slices.SortFunc(all, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	pairs := make([]string, 0, 2*len(all))
	for _, form := range all {
		pairs = append(pairs, form, names[form])
	}
	r.values = strings.NewReplacer(pairs...)
	return r
}

func redacted(name string) string {
	clean := strings.Map(func(c rune) rune {
		if c == '_' || c == '-' || '0' <= c && c <= '9' || 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' {
			return c
		}
		return '_'
	}, name)
	return "‹redacted " + clean + "›"
}

// secretName reports whether the value of such a variable is nobody's business. GIT_AUTHOR_NAME is no AUTH.
func secretName(name string) bool {
	name = strings.ReplaceAll(strings.ToUpper(name), "AUTHOR", "")
	for _, word := range []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "AUTH"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// forms are the ways in which a value can stand in a text that is kept: as it is, made safe for display, on one
// line, inside a JSON string or a URL; and, of a value of several lines, each line by itself.
func forms(value string) []string {
	out := []string{value}
	add := func(s string) {
		if len(s) >= minSecret && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	add(strings.TrimSpace(value))
	add(strings.Join(strings.Fields(value), " "))
	add(url.QueryEscape(value))
	add(url.PathEscape(value))
	if lines := strings.Split(value, "\n"); len(lines) > 1 {
		for _, line := range lines {
			if line = strings.TrimSpace(line); len(line) >= minSecretLine {
				add(line)
			}
		}
	}
	for _, s := range slices.Clone(out) {
		add(askbridge.Safe(s))
		add(askbridge.SafeText(s))
	}
	for _, s := range slices.Clone(out) {
		for _, html := range []bool{false, true} {
			add(string(bytes.Trim(encodeString(s, html), `"`)))
		}
	}
	return out
}

// shapes are the tokens that are known by sight.
func shapes() []shape {
	return []shape{
		{"sk-ant", []string{"sk-ant-"}, regexp.MustCompile(`sk-ant-[A-Za-z0-9_-]{8,}`)},
		{"github-token", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_"}, regexp.MustCompile(`gh[pousr]_[A-Za-z0-9]{16,}`)},
		{"github-token", []string{"github_pat_"}, regexp.MustCompile(`github_pat_[A-Za-z0-9_]{16,}`)},
		{"slack-token", []string{"xox"}, regexp.MustCompile(`xox[a-z]-[A-Za-z0-9-]{8,}`)},
		{"aws-key", []string{"AKIA", "ASIA"}, regexp.MustCompile(`A[KS]IA[A-Z0-9]{16}`)},
		{"jwt", []string{"eyJ"}, regexp.MustCompile(`eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`)},
		// A key that was cut off goes to the end of the text.
		{"private-key", []string{"PRIVATE KEY-----"}, regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----.*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|\z)`)},
	}
}

// Text returns a text without its secrets.
func (r *Redactor) Text(s string) string {
	if len(s) < minSecret {
		return s
	}
	s = r.values.Replace(s)
	for _, shape := range r.shapes {
		if slices.ContainsFunc(shape.marks, func(mark string) bool { return strings.Contains(s, mark) }) {
			s = shape.pattern.ReplaceAllLiteralString(s, redacted(shape.name))
		}
	}
	return s
}

// JSON returns a line of JSON without its secrets, in whatever way its strings are escaped. Bytes in which there
// is no secret stay as they came; JSON stays JSON. A line that is no JSON is searched all the same.
func (r *Redactor) JSON(line []byte) []byte {
	if line := string(line); !strings.Contains(line, `\`) && r.Text(line) == line {
		return []byte(line)
	}
	return r.literals(line, maxNested)
}

// literals redacts inside each JSON string of a line.
func (r *Redactor) literals(line []byte, depth int) []byte {
	var out bytes.Buffer
	for len(line) > 0 {
		open := bytes.IndexByte(line, '"')
		if open < 0 {
			open = len(line)
		}
		out.Write(r.between(line[:open]))
		line = line[open:]
		if len(line) == 0 {
			break
		}
		n := literal(line)
		if n == 0 { // it never ends, so this is not JSON
			out.WriteString(r.Text(string(line)))
			break
		}
		out.Write(r.literal(line[:n], depth))
		line = line[n:]
	}
	return out.Bytes()
}

// literal returns the length of the JSON string at the beginning of b, with its quotes; 0 when it has no end.
func literal(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '"':
			return i + 1
		case '\\':
			i++
		}
	}
	return 0
}

func (r *Redactor) literal(lit []byte, depth int) []byte {
	if len(lit) < minSecret {
		return lit
	}
	var s string
	if json.Unmarshal(lit, &s) != nil {
		return []byte(`"` + r.Text(string(lit[1:len(lit)-1])) + `"`)
	}
	clean := r.Text(s)
	if depth > 0 && strings.Contains(clean, `\`) && strings.Contains(clean, `"`) {
		clean = string(r.literals([]byte(clean), depth-1))
	}
	if clean == s {
		return lit
	}
	return encodeString(clean, false)
}

// between redacts what stands outside of strings: in JSON numbers alone, in any other text anything.
func (r *Redactor) between(b []byte) []byte {
	if clean := r.Text(string(b)); clean == string(b) || !jsonPlain(b) {
		return []byte(clean)
	}
	var out bytes.Buffer
	for len(b) > 0 {
		n := bytes.IndexAny(b, "0123456789")
		if n < 0 {
			n = len(b)
		}
		out.Write(b[:n])
		b = b[n:]
		end := len(b) - len(bytes.TrimLeft(b, "0123456789.eE+-"))
		number := string(b[:end])
		if clean := r.Text(number); clean != number {
			out.Write(encodeString(clean, false))
		} else {
			out.WriteString(number)
		}
		b = b[end:]
	}
	return out.Bytes()
}

// jsonPlain reports whether b can stand between the strings of a JSON text.
func jsonPlain(b []byte) bool {
	return len(bytes.Trim(b, " \t\r\n{}[]:,0123456789.eE+-truefalsn")) == 0
}

func encodeString(s string, html bool) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	_ = enc.Encode(s) // a string always encodes
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
