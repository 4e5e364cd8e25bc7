package keys

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/charmbracelet/bubbles/key"
	tea "github.com/charmbracelet/bubbletea"
)

// ChangeError says why a changed binding cannot be. Its text is one sentence for the operator.
type ChangeError struct {
	Name    string // the binding that was changed
	Problem string
}

func (e *ChangeError) Error() string { return e.Problem }

// With returns the table with other keys for some bindings, by their names. What is shown of a key follows. A
// change that cannot be taken is a *ChangeError, and then nothing is changed: an unknown name or key, no key at
// all, a key that types where text is typed, or one that means something else in the same place already. All
// changes are made before they are judged, so that two bindings can swap their keys.
func (m Map) With(changes map[string][]string) (Map, error) {
	parsed, err := m.parse(changes)
	if err != nil {
		return m, err
	}
	changed := m.each(func(name string, b *key.Binding) {
		keys, ok := parsed[name]
		if !ok {
			return
		}
		b.SetKeys(keys...)
		sign := shown(keys)
		if slices.Contains(twice(), name) {
			first := label(keys[0])
			sign = first + " " + first
		}
		b.SetHelp(sign, b.Help().Desc)
	})
	for _, name := range slices.Sorted(maps.Keys(parsed)) {
		if err := changed.conflict(name); err != nil {
			return m, err
		}
	}
	return changed, nil
}

// Bound reports whether any binding has the key. An Alt key that none has is Esc and the key.
func (m Map) Bound(msg tea.KeyMsg) bool {
	bound := false
	m.each(func(_ string, b *key.Binding) { bound = bound || key.Matches(msg, *b) })
	return bound
}

// parse judges each change by itself.
func (m Map) parse(changes map[string][]string) (map[string][]string, error) {
	var names []string
	m.each(func(name string, _ *key.Binding) { names = append(names, name) })
	out := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		if !slices.Contains(names, name) {
			near := nearest(name, names, 3)
			return nil, refuse(name, "there is no binding %q; the nearest names are %s", name, strings.Join(near, ", "))
		}
		if len(changes[name]) == 0 {
			return nil, refuse(name, "%s needs at least one key", name)
		}
		for _, written := range changes[name] {
			k, err := parseKey(written)
			if err != nil {
				return nil, refuse(name, "%s: %v", name, err)
			}
			if err := fits(name, k); err != nil {
				return nil, err
			}
			if !slices.Contains(out[name], k) {
				out[name] = append(out[name], k)
			}
		}
	}
	return out, nil
}

// fits judges one key of one binding, whatever the others have.
func fits(name, k string) error {
	if name == "row" && (len(k) != 1 || k < "1" || k > "9") {
		return refuse(name, "row lights the row with the number of the key; %s is none of the digits 1 to 9", label(k))
	}
	if k == fixed && name != "help" {
		return refuse(name, "%s: %s always shows all keys; choose another", name, label(k))
	}
	for _, where := range places()[name] {
		switch {
		case !isTyped(where):
		case prints(k):
			return refuse(name, "%s works where text is typed, and %s is text there; use a key that types nothing, such as f2", name, label(k))
		case edits(k):
			return refuse(name, "%s works where text is typed, and %s edits the text there; use another, such as f2", name, label(k))
		}
	}
	return nil
}

func isTyped(where Place) bool { return where == Everywhere || slices.Contains(typed(), where) }

// conflict finds another binding that has a key of this one in a place of this one.
func (m Map) conflict(name string) error {
	all := m.Named()
	one := all[slices.IndexFunc(all, func(n Named) bool { return n.Name == name })]
	for _, other := range all {
		where, meet := meeting(one.Places, other.Places)
		if other.Name == name || !meet {
			continue
		}
		for _, k := range one.Keys {
			if slices.Contains(other.Keys, k) {
				return refuse(name, "%s and %s would both be on %s %s; give one of them another key", name, other.Name, label(k), where)
			}
		}
	}
	return nil
}

// meeting finds a place where both bindings work.
func meeting(a, b []Place) (string, bool) {
	for _, x := range a {
		for _, y := range b {
			switch {
			case x == Everywhere && y == Everywhere:
				return "everywhere", true
			case x == Everywhere:
				return "in the " + string(y), true
			case x == y, y == Everywhere:
				return "in the " + string(x), true
			}
		}
	}
	return "", false
}

func refuse(name, format string, args ...any) error {
	return &ChangeError{Name: name, Problem: fmt.Sprintf(format, args...)}
}
