package settings

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

const (
	keysKey      = "keys"
	keysVariable = "KITSOKI_KEYS" // YAML as well: {submit: ctrl+s, up: [up, w]}
)

// reader walks through the nodes of one source. The nodes are read by hand, and not decoded into the struct,
// because only so every refusal has its place and says what is allowed there.
type reader struct {
	source string
	s      *Settings
}

// readYAML takes what the file says. A key without a value says nothing.
func (s *Settings) readYAML(source string, src []byte) error {
	r := reader{source, s}
	top, err := r.parse(src)
	if err != nil || top == nil {
		return err
	}
	return r.section("", top)
}

// readKeysText takes changed bindings from a text of their own.
func (s *Settings) readKeysText(source, text string) error {
	r := reader{source, s}
	top, err := r.parse([]byte(text))
	if err != nil || top == nil {
		return err
	}
	return r.keys(top)
}

// parse returns the one document of a source; nil when it is empty.
func (r reader) parse(src []byte) (ast.Node, error) {
	file, err := parser.ParseBytes(src, 0)
	if err != nil {
		var at yaml.Error
		if errors.As(err, &at) && at.GetToken() != nil {
			return nil, fmt.Errorf("%s: this is not valid YAML: %s", r.at(at.GetToken()), plain(at.GetMessage()))
		}
		return nil, fmt.Errorf("%s: this is not valid YAML: %s", r.source, plain(err.Error()))
	}
	var top ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if top != nil {
			return nil, fmt.Errorf("%s: here a second document starts; use only one", r.at(start(doc.Body)))
		}
		top = doc.Body
	}
	return top, nil
}

// plain keeps the words of a library in one line.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s)
}

func (r reader) at(t *token.Token) string {
	if t == nil || t.Position == nil {
		return r.source
	}
	return fmt.Sprintf("%s:%d:%d", r.source, t.Position.Line, t.Position.Column)
}

// section takes the settings below a prefix, such as "notify."; none for the whole file.
func (r reader) section(prefix string, node ast.Node) error {
	entries, ok := entriesOf(node)
	if !ok {
		v := r.value(node)
		return fmt.Errorf("%s: %s is %s; use a map with %s", v.at, called(prefix), v.kind, either(below(prefix)))
	}
	for _, e := range entries {
		if err := r.entry(prefix, e); err != nil {
			return err
		}
	}
	return nil
}

func (r reader) entry(prefix string, e *ast.MappingValueNode) error {
	name, ok := keyName(e.Key)
	if !ok || !slices.Contains(below(prefix), name) {
		return fmt.Errorf("%s: there is no setting %q; use %s", r.at(start(e.Key)), prefix+name, either(below(prefix)))
	}
	if e.Value == nil || e.Value.Type() == ast.NullType {
		return nil
	}
	key := prefix + name
	if key == keysKey {
		return r.keys(e.Value)
	}
	for _, f := range fields() {
		if f.key == key {
			return r.field(f, e.Value)
		}
	}
	return r.section(key+".", e.Value)
}

func (r reader) field(f field, node ast.Node) error {
	v := r.value(node)
	if item, ok := r.oddItem(node); ok {
		return fmt.Errorf("%s: an item of %s is %s; use only texts in the list", item.at, f.key, item.kind)
	}
	return r.s.take(f, v)
}

// keys takes the changed bindings: of each name one key or a list of keys.
func (r reader) keys(node ast.Node) error {
	const allowed = "a key such as ctrl+s, or a list of keys"
	entries, ok := entriesOf(node)
	if !ok {
		v := r.value(node)
		return fmt.Errorf("%s: %s is %s; use a map of a binding's name to %s", v.at, keysKey, v.shown(), allowed)
	}
	for _, e := range entries {
		name, ok := keyName(e.Key)
		if !ok || name == "" {
			return fmt.Errorf("%s: here is no binding's name; use one such as submit", r.at(start(e.Key)))
		}
		key := keysKey + "." + name
		said := plain(key)
		v := r.value(e.Value)
		if item, odd := r.oddItem(e.Value); odd {
			return fmt.Errorf("%s: an item of %s is %s; use %s", item.at, said, item.kind, allowed)
		}
		if v.kind == nothing {
			return fmt.Errorf("%s: %s names no key; use %s, and quotes around ~", v.at, said, allowed)
		}
		if (v.kind != aText && v.kind != aList) || len(v.texts) == 0 || slices.Contains(v.texts, "") {
			return fmt.Errorf("%s: %s is %s; use %s", v.at, said, v.shown(), allowed)
		}
		r.s.Keys[name] = v.texts
		r.s.places[key] = v.at
	}
	return nil
}

// value reads a node without judging it. Of a list, items that are no texts are left out; see oddItem.
func (r reader) value(node ast.Node) value {
	v := value{at: r.at(start(node)), kind: anOddity}
	switch n := node.(type) {
	case nil, *ast.NullNode:
		v.kind = nothing
	case *ast.LiteralNode:
		v.kind, v.texts = aText, []string{n.Value.Value}
	case *ast.StringNode:
		v.kind, v.texts = aText, []string{n.Value}
	case *ast.SequenceNode:
		v.kind = aList
		for _, item := range n.Values {
			if i := r.value(item); i.kind == aText {
				v.texts = append(v.texts, i.texts[0])
			}
		}
	case *ast.MappingNode, *ast.MappingValueNode:
		v.kind = aMap
	case *ast.TagNode:
		v.kind = aTag
	case *ast.AnchorNode:
		return r.value(n.Value)
	case *ast.AliasNode:
		v.kind = aLink
	case ast.ScalarNode: // behind the ones above, which are scalars as well
		v.kind, v.texts = aText, []string{n.GetToken().Value} // as it was written: 0x10 stays 0x10
	}
	return v
}

// oddItem finds the first item of a list that is no text.
func (r reader) oddItem(node ast.Node) (value, bool) {
	if list, ok := node.(*ast.SequenceNode); ok {
		for _, item := range list.Values {
			if v := r.value(item); v.kind != aText {
				return v, true
			}
		}
	}
	return value{}, false
}

func entriesOf(node ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := node.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	case *ast.AnchorNode:
		return entriesOf(n.Value)
	}
	return nil, false
}

// keyName returns a key that is a plain text.
func keyName(key ast.MapKeyNode) (string, bool) {
	if s, ok := key.(*ast.StringNode); ok {
		return s.Value, true
	}
	return plain(key.String()), false
}

// start is the first token of a node. A block map's own token is the colon behind its first key.
func start(node ast.Node) *token.Token {
	switch n := node.(type) {
	case nil:
		return nil
	case *ast.MappingNode:
		if !n.IsFlowStyle && len(n.Values) > 0 {
			return start(n.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return start(n.Key)
	}
	return node.GetToken()
}

// below lists the keys that may stand under a prefix, in the order of the fields.
func below(prefix string) []string {
	var out []string
	for _, f := range fields() {
		rest, ok := strings.CutPrefix(f.key, prefix)
		name, _, _ := strings.Cut(rest, ".")
		if ok && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	if prefix == "" {
		out = slices.Insert(out, slices.Index(out, "notify"), keysKey)
	}
	return out
}

func called(prefix string) string {
	if prefix == "" {
		return "the file"
	}
	return strings.TrimSuffix(prefix, ".")
}
