package settings

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// kind is what was written for a setting.
type kind string

const (
	aText    kind = "a text" // any scalar; a number or true is a text as well
	aList    kind = "a list"
	aMap     kind = "a map"
	nothing  kind = "nothing"
	aTag     kind = "a tagged value"
	aLink    kind = "an alias"
	anOddity kind = "something else"
)

// value is what was written for a setting, in the file or in a variable.
type value struct {
	at    string // where it stands
	kind  kind
	texts []string // of a text: one; of a list: any number
}

// shown is the value in a sentence.
func (v value) shown() string {
	if v.kind == aText {
		return fmt.Sprintf("%q", v.texts[0])
	}
	return string(v.kind)
}

// Agents are what agent can be; the flag offers the same.
func Agents() []string { return []string{"claude", "scripted"} }

// Accesses are what access can be; the flag offers the same.
func Accesses() []string { return []string{"read", "ask", "edit", "full"} }

// Hangups are what on_hangup can be; the flag offers the same.
func Hangups() []string { return []string{"stay", "end"} }

// Themes are what theme can be.
func Themes() []string { return []string{"auto", "light", "dark", "none", "16"} }

// field is one setting. set takes a value, or refuses it and says what is allowed.
type field struct {
	key string // in the file, with a dot for each level
	set func(s *Settings, v value) (allowed string)
}

// variable is the field's name in the environment: notify.bell is KITSOKI_NOTIFY_BELL.
func (f field) variable() string {
	return "KITSOKI_" + strings.ToUpper(strings.ReplaceAll(f.key, ".", "_"))
}

// fields are all settings but the keys, in the order in which they are told.
func fields() []field {
	return []field{
		{"agent", oneOf(func(s *Settings) *string { return &s.Agent }, Agents()...)},
		{"model", text(func(s *Settings) *string { return &s.Model }, "the model's name")},
		{"access", oneOf(func(s *Settings) *string { return &s.Access }, Accesses()...)},
		{"ask_wait", duration(func(s *Settings) *time.Duration { return &s.AskWait }, time.Nanosecond)},
		{"on_hangup", oneOf(func(s *Settings) *string { return &s.OnHangup }, Hangups()...)},
		{"elsewhere", oneOf(func(s *Settings) *string { return &s.Elsewhere }, "list", "open", "off")},
		{"theme", oneOf(func(s *Settings) *string { return &s.Theme }, Themes()...)},
		{"notify.bell", yesNo(func(s *Settings) *bool { return &s.Notify.Bell })},
		{"notify.osc", oneOf(func(s *Settings) *string { return &s.Notify.OSC }, "off", "9", "777")},
		{"notify.title", yesNo(func(s *Settings) *bool { return &s.Notify.Title })},
		{"notify.on_ask", command(func(s *Settings) *[]string { return &s.Notify.OnAsk })},
		{"notify.after", duration(func(s *Settings) *time.Duration { return &s.Notify.After }, 0)},
		{"copy.osc52", yesNo(func(s *Settings) *bool { return &s.Copy.OSC52 })},
		{"log", text(func(s *Settings) *string { return &s.Log }, "the path of a file")},
	}
}

// take sets a field and notes where that was done.
func (s *Settings) take(f field, v value) error {
	if allowed := f.set(s, v); allowed != "" {
		return fmt.Errorf("%s: %s is %s; use %s", v.at, f.key, v.shown(), allowed)
	}
	s.places[f.key] = v.at
	return nil
}

type setter = func(s *Settings, v value) (allowed string)

func text(at func(*Settings) *string, allowed string) setter {
	return func(s *Settings, v value) string {
		if v.kind != aText || strings.ContainsFunc(v.texts[0], unicode.IsControl) {
			return allowed
		}
		*at(s) = v.texts[0]
		return ""
	}
}

func oneOf(at func(*Settings) *string, allowed ...string) setter {
	return func(s *Settings, v value) string {
		if v.kind != aText || !slices.Contains(allowed, v.texts[0]) {
			return either(allowed)
		}
		*at(s) = v.texts[0]
		return ""
	}
}

func yesNo(at func(*Settings) *bool) setter {
	return func(s *Settings, v value) string {
		if v.kind != aText || (v.texts[0] != "true" && v.texts[0] != "false") {
			return "true or false"
		}
		*at(s) = v.texts[0] == "true"
		return ""
	}
}

func duration(at func(*Settings) *time.Duration, least time.Duration) setter {
	allowed := "a duration such as 90s or 5m"
	if least > 0 {
		allowed = "a duration above zero such as 90s or 5m"
	}
	return func(s *Settings, v value) string {
		if v.kind != aText {
			return allowed
		}
		d, err := time.ParseDuration(v.texts[0])
		if err != nil || d < least {
			return allowed
		}
		*at(s) = d
		return ""
	}
}

// command takes a list as the arguments, the first one being the program, and a text for a shell.
func command(at func(*Settings) *[]string) setter {
	return func(s *Settings, v value) string {
		switch {
		case v.kind == aText && v.texts[0] == "", v.kind == aList && len(v.texts) == 0:
			*at(s) = nil
		case v.kind == aText && !strings.Contains(v.texts[0], "\x00"):
			*at(s) = []string{"sh", "-c", v.texts[0]}
		case v.kind == aList && v.texts[0] != "" && !strings.Contains(strings.Join(v.texts, ""), "\x00"):
			*at(s) = v.texts
		default:
			return "a text for a shell, or a list of a program and its arguments"
		}
		return ""
	}
}

// either lists alternatives: a, b or c.
func either(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
