package keys

import (
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/charmbracelet/bubbles/key"
)

// Place is where a binding works. In one place a key means one thing; in two places it may mean two.
type Place string

// The places.
const (
	Everywhere Place = "everywhere"
	Composer   Place = "composer"
	List       Place = "list"       // the rows of a question
	TextField  Place = "text field" // an own answer, a note, a reason, a filter
	Review     Place = "review"     // all drafts before they are sent
	Inbox      Place = "inbox"
	Proposal   Place = "proposal"
	Sessions   Place = "sessions" // the list of sessions, and of queued prompts
)

// typed are the places where a key that prints something is text.
func typed() []Place { return []Place{Composer, TextField} }

// places says where each binding works, by its name. A new binding needs its line here.
func places() map[string][]Place {
	return map[string][]Place{
		"quit":   {Everywhere},
		"help":   {List, Review, Inbox, Sessions, Proposal}, // where nothing is typed; F1 does it everywhere, see fixed
		"editor": {Everywhere},

		"submit":    {Composer},
		"new_line":  {Composer, TextField},
		"stop":      {Composer},
		"open_ask":  {Composer},
		"unqueue":   {Composer},
		"page_up":   {Composer},
		"page_down": {Composer},
		"bottom":    {Composer},
		"top":       {Composer},

		"older":        {Composer},
		"newer":        {Composer},
		"search":       {Composer},
		"tools":        {Composer},
		"sessions":     {Composer, Sessions},
		"next_session": {Composer},
		"new_session":  {Sessions},
		"rename":       {Sessions},
		"close_row":    {Sessions},
		"continue":     {Sessions},

		"inbox":       {List, TextField, Review, Inbox, Proposal},
		"peek":        {List, Review, Inbox, Proposal},
		"copy":        {List, Review, Inbox},
		"ask_back":    {List, Review, Inbox},
		"recommended": {List, Review},

		"up":            {List, Review, Inbox, Sessions, Proposal},
		"down":          {List, Review, Inbox, Sessions, Proposal},
		"row":           {List, Review, Inbox, Sessions, Proposal},
		"pick":          {List, Review},
		"take":          {List, Review, Inbox, Sessions, Proposal},
		"own":           {List, Review},
		"next":          {List, TextField, Review, Inbox},
		"prev":          {List, TextField, Review, Inbox},
		"skip":          {List, Review},
		"decline":       {List, TextField, Review, Inbox, Proposal},
		"more":          {List, Review, Inbox, Proposal},
		"fold":          {List, Review, Inbox, Sessions, Proposal},
		"note":          {List, Review},
		"preview":       {List, Review},
		"filter":        {List, Review, Inbox},
		"accept":        {TextField},
		"leave":         {TextField},
		"more_in_field": {List, TextField, Review},
		"options_up":    {List, Review, Inbox, Proposal},
		"options_down":  {List, Review, Inbox, Proposal},
		"question_up":   {List, Review, Proposal},
		"question_down": {List, Review, Proposal},

		"allow": {Proposal},
		"deny":  {Proposal, Inbox},
		"start": {Proposal},
		"end":   {Proposal},
	}
}

// fixed is the key that always opens the list of all keys, so that there is a way out of every change.
const fixed = "f1"

// twice are the bindings that act at the second press.
func twice() []string { return []string{"quit", "stop"} }

// Named is one binding as it is told of in documents and in the list of all keys.
type Named struct {
	Name        string   // as settings call it
	Keys        []string // as bubbletea names them
	Shown       string   // as the screen shows them
	Description string
	Places      []Place
}

// Named lists all bindings, in the order of the table.
func (m Map) Named() []Named {
	var out []Named
	where := places()
	m.each(func(name string, b *key.Binding) {
		out = append(out, Named{
			Name: name, Keys: slices.Clone(b.Keys()), Shown: b.Help().Key, Description: b.Help().Desc, Places: where[name],
		})
	})
	return out
}

// each calls f with every binding of a copy of the table, and returns the copy with what f changed.
func (m Map) each(f func(name string, b *key.Binding)) Map {
	v := reflect.ValueOf(&m).Elem()
	for i := range v.NumField() {
		if b, ok := v.Field(i).Addr().Interface().(*key.Binding); ok {
			f(snake(v.Type().Field(i).Name), b)
		}
	}
	return m
}

// snake turns the name of a field into the name of a binding: MoreInField is more_in_field.
func snake(field string) string {
	var out strings.Builder
	for i, r := range field {
		if i > 0 && unicode.IsUpper(r) {
			out.WriteByte('_')
		}
		out.WriteRune(unicode.ToLower(r))
	}
	return out.String()
}
