package keys

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
)

// A new field of Map needs a line in places, and every line a field.
func TestEveryBindingHasItsPlaces(t *testing.T) {
	where := places()
	all := Default().Named()
	if n := reflect.TypeFor[Map]().NumField(); len(all) != n {
		t.Errorf("%d of %d fields have a name", len(all), n)
	}
	for _, b := range all {
		if len(b.Places) == 0 {
			t.Errorf("%s has no place", b.Name)
		}
		if len(b.Keys) == 0 || b.Shown == "" || b.Description == "" {
			t.Errorf("%s has no key or says nothing: %+v", b.Name, b)
		}
		delete(where, b.Name)
	}
	for name := range where {
		t.Errorf("the place of %q is told, but there is no such binding", name)
	}
}

// The table as it comes keeps the rules that changes are judged by.
func TestDefaultKeepsTheRules(t *testing.T) {
	m := Default()
	for _, b := range m.Named() {
		if err := m.conflict(b.Name); err != nil {
			t.Error(err)
		}
		for _, k := range b.Keys {
			if parsed, err := parseKey(k); err != nil || parsed != k {
				t.Errorf("%s: %q, %v", b.Name, parsed, err)
			}
			if err := fits(b.Name, k); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestWithChangesKeysAndWhatIsShown(t *testing.T) {
	for name, c := range map[string]struct {
		changes map[string][]string
		binding func(Map) key.Binding
		keys    []string
		shown   string
	}{
		"a control key":  {map[string][]string{"submit": {"ctrl+s"}}, func(m Map) key.Binding { return m.Submit }, []string{"ctrl+s"}, "^S"},
		"two keys":       {map[string][]string{"up": {"up", "W"}}, func(m Map) key.Binding { return m.Up }, []string{"up", "W"}, "↑ W"},
		"three keys":     {map[string][]string{"up": {"ctrl+up", "W", "Z"}}, func(m Map) key.Binding { return m.Up }, []string{"ctrl+up", "W", "Z"}, "^↑ W"},
		"the same twice": {map[string][]string{"own": {"O", "O"}}, func(m Map) key.Binding { return m.Own }, []string{"O"}, "O"},
		"space":          {map[string][]string{"skip": {"space"}, "pick": {"X"}}, func(m Map) key.Binding { return m.Skip }, []string{" "}, "Spc"},
		"alt":            {map[string][]string{"submit": {"alt+s"}}, func(m Map) key.Binding { return m.Submit }, []string{"alt+s"}, "Alt+s"},
		"alt and ctrl":   {map[string][]string{"submit": {"alt+ctrl+s"}}, func(m Map) key.Binding { return m.Submit }, []string{"alt+ctrl+s"}, "Alt+^S"},
		"alt and space":  {map[string][]string{"submit": {"alt+space"}}, func(m Map) key.Binding { return m.Submit }, []string{"alt+ "}, "Alt+Spc"},
		"shift":          {map[string][]string{"prev": {"shift+left"}}, func(m Map) key.Binding { return m.Prev }, []string{"shift+left"}, "S-←"},
		"function keys":  {map[string][]string{"decline": {"f12"}}, func(m Map) key.Binding { return m.Decline }, []string{"f12"}, "F12"},
		"second press":   {map[string][]string{"quit": {"ctrl+q", "f10"}}, func(m Map) key.Binding { return m.Quit }, []string{"ctrl+q", "f10"}, "^Q ^Q"},
		"fewer rows":     {map[string][]string{"row": {"1", "2", "3", "4"}}, func(m Map) key.Binding { return m.Row }, []string{"1", "2", "3", "4"}, "1-4"},
		"a swap":         {map[string][]string{"own": {"n"}, "note": {"i"}}, func(m Map) key.Binding { return m.Note }, []string{"i"}, "i"},
		"other letters":  {map[string][]string{"own": {"ö"}}, func(m Map) key.Binding { return m.Own }, []string{"ö"}, "ö"},
		"help on f1":     {map[string][]string{"help": {"f1", "H"}}, func(m Map) key.Binding { return m.Help }, []string{"f1", "H"}, "F1 H"},
		// The same key in different places means what it did.
		"shared by places": {map[string][]string{"page_up": {"ctrl+u"}}, func(m Map) key.Binding { return m.PageUp }, []string{"ctrl+u"}, "^U"},
	} {
		t.Run(name, func(t *testing.T) {
			before := Default()
			m, err := before.With(c.changes)
			if err != nil {
				t.Fatal(err)
			}
			b := c.binding(m)
			if !slices.Equal(b.Keys(), c.keys) || b.Help().Key != c.shown {
				t.Errorf("%q shown as %q, want %q as %q", b.Keys(), b.Help().Key, c.keys, c.shown)
			}
			if b.Help().Desc != c.binding(before).Help().Desc {
				t.Errorf("it does %q now", b.Help().Desc)
			}
			if !reflect.DeepEqual(before, Default()) {
				t.Error("the table it came from changed as well")
			}
		})
	}
}

// What is shown of the keys that come is what the table says of them: first keys have the same sign.
func TestShownAgreesWithTheTable(t *testing.T) {
	for _, b := range Default().Named() {
		if sign := label(b.Keys[0]); !strings.HasPrefix(b.Shown, sign) {
			t.Errorf("%s is shown as %q, and its first key would be %q", b.Name, b.Shown, sign)
		}
		m, err := Default().With(map[string][]string{b.Name: b.Keys})
		if err != nil {
			t.Errorf("%s cannot be what it is: %v", b.Name, err)
		} else if i := slices.IndexFunc(m.Named(), func(n Named) bool { return n.Name == b.Name }); !slices.Equal(m.Named()[i].Keys, b.Keys) {
			t.Errorf("%s became %q", b.Name, m.Named()[i].Keys)
		}
	}
}

func TestWithRefuses(t *testing.T) {
	const text = "; use a key that types nothing, such as f2"
	for name, c := range map[string]struct {
		changes map[string][]string
		of      string
		want    string
	}{
		"an unknown name":     {map[string][]string{"sbumit": {"f2"}}, "sbumit", `there is no binding "sbumit"; the nearest names are submit, `},
		"a field's own name":  {map[string][]string{"MoreInField": {"f2"}}, "MoreInField", `there is no binding "MoreInField"; the nearest names are more_in_field, `},
		"no key":              {map[string][]string{"submit": {}}, "submit", "submit needs at least one key"},
		"an unknown key":      {map[string][]string{"submit": {"ctrl+shift+x"}}, "submit", `submit: "ctrl+shift+x" is no key a terminal sends; use one such as a, ctrl+a, alt+a, f2, pgup or space`},
		"an empty key":        {map[string][]string{"submit": {""}}, "submit", `submit: "" is no key a terminal sends; use one`},
		"a typing error":      {map[string][]string{"submit": {"entre"}}, "submit", `submit: "entre" is no key a terminal sends; did you mean enter?`},
		"capitals":            {map[string][]string{"submit": {"Ctrl+X"}}, "submit", `submit: "Ctrl+X" is no key a terminal sends; did you mean ctrl+x?`},
		"alt, wrong":          {map[string][]string{"submit": {"alt+etner"}}, "submit", `submit: "alt+etner" is no key a terminal sends; did you mean alt+enter?`},
		"an alias":            {map[string][]string{"submit": {"ctrl+m"}}, "submit", `submit: "ctrl+m" arrives as enter; name that`},
		"a wide word":         {map[string][]string{"submit": {"runes"}}, "submit", `submit: "runes" is no key a terminal sends`},
		"a control character": {map[string][]string{"own": {"\x1b"}}, "own", `own: "\x1b" is no key a terminal sends`},
		"half a character":    {map[string][]string{"own": {"\xc3"}}, "own", `own: "\xc3" is no key a terminal sends`},
		"in the composer":     {map[string][]string{"stop": {"x"}}, "stop", "stop works where text is typed, and x is text there" + text},
		"in the field":        {map[string][]string{"leave": {"space"}}, "leave", "leave works where text is typed, and Spc is text there" + text},
		"in list and field":   {map[string][]string{"next": {"l"}}, "next", "next works where text is typed, and l is text there" + text},
		"everywhere":          {map[string][]string{"quit": {"q"}}, "quit", "quit works where text is typed, and q is text there" + text},
		"what edits":          {map[string][]string{"decline": {"backspace"}}, "decline", "decline works where text is typed, and Backspace edits the text there; use another, such as f2"},
		"f1":                  {map[string][]string{"submit": {"f1"}}, "submit", "submit: F1 always shows all keys; choose another"},
		"a row that is none":  {map[string][]string{"row": {"1", "a"}}, "row", "row lights the row with the number of the key; a is none of the digits 1 to 9"},
		"a row of zero":       {map[string][]string{"row": {"0"}}, "row", "row lights the row with the number of the key; 0 is none of the digits 1 to 9"},
		"a taken key":         {map[string][]string{"own": {"k"}}, "own", "own and up would both be on k in the list; give one of them another key"},
		"taken in the field":  {map[string][]string{"accept": {"ctrl+x"}}, "accept", "accept and decline would both be on ^X in the text field; give one of them another key"},
		"taken everywhere":    {map[string][]string{"fold": {"ctrl+c"}}, "fold", "fold and quit would both be on ^C in the list; give one of them another key"},
		"over everything":     {map[string][]string{"editor": {"ctrl+c"}}, "editor", "editor and quit would both be on ^C everywhere; give one of them another key"},
		"taken by everywhere": {map[string][]string{"quit": {"ctrl+o"}}, "quit", "quit and open_ask would both be on ^O in the composer; give one of them another key"},
		"both changed":        {map[string][]string{"own": {"O"}, "skip": {"O"}}, "own", "own and skip would both be on O in the list; give one of them another key"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Default().With(c.changes)
			var refused *ChangeError
			if !errors.As(err, &refused) {
				t.Fatalf("got %v", err)
			}
			if refused.Name != c.of || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%s: got  %s\nwant %s", refused.Name, err, c.want)
			}
			if !reflect.DeepEqual(m, Default()) {
				t.Error("a part of it was changed")
			}
		})
	}
}

// A key that parseKey takes arrives under that very name.
func TestKeyNamesAreBubbleteas(t *testing.T) {
	for key, want := range map[*tea.Key]string{
		{Type: tea.KeyCtrlUnderscore}:                       "ctrl+_",
		{Type: tea.KeyCtrlAt}:                               "ctrl+@",
		{Type: tea.KeyF20}:                                  "f20",
		{Type: tea.KeyUp, Alt: true}:                        "alt+up",
		{Type: tea.KeyBackspace}:                            "backspace",
		{Type: tea.KeyCtrlShiftEnd}:                         "ctrl+shift+end",
		{Type: tea.KeyRunes, Runes: []rune{'+'}}:            "+",
		{Type: tea.KeyRunes, Runes: []rune{'+'}, Alt: true}: "alt++",
		{Type: tea.KeySpace, Runes: []rune{' '}, Alt: true}: "alt+space",
	} {
		got, err := parseKey(want)
		if err != nil || got != key.String() {
			t.Errorf("%s: got %q, %v, and it arrives as %q", want, got, err, key)
		}
	}
	if slices.Contains(keyNames(), "runes") || len(keyNames()) < 80 {
		t.Errorf("the names are %q", keyNames())
	}
}

func TestBound(t *testing.T) {
	m, err := Default().With(map[string][]string{"submit": {"alt+s"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		key  tea.Key
		want bool
	}{
		"changed":         {tea.Key{Type: tea.KeyRunes, Runes: []rune{'s'}, Alt: true}, true},
		"as it came":      {tea.Key{Type: tea.KeyEnter, Alt: true}, true},
		"bound to nobody": {tea.Key{Type: tea.KeyRunes, Runes: []rune{'x'}, Alt: true}, false},
	} {
		if got := m.Bound(tea.KeyMsg(c.key)); got != c.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
