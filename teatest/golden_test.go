package teatest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"example.com/kitsoki/host"
)

var (
	database = host.OperatorQuestion{
		Question: "Which database should the new service use?", Header: "Database",
		Options: []host.OperatorOption{
			{Label: "Postgres", Description: "The team runs it already; backups and alerts exist."},
			{Label: "SQLite", Description: "One file beside the binary; no server to look after."},
			{Label: "None yet", Description: "Keep the data in memory until the shape is known."},
		},
	}
	checks = host.OperatorQuestion{
		Question: "Which checks should run before the release is cut?", Header: "Checks", MultiSelect: true,
		Options: []host.OperatorOption{
			{Label: "lint", Description: "a minute"}, {Label: "unit", Description: "two minutes"},
			{Label: "race", Description: "nine minutes, since the scheduler tests came in; it found two faults last month"},
			{Label: "fuzz", Description: "as long as you like"},
		},
	}
	releaseName = host.OperatorQuestion{
		Question: "What should the release be called?", Header: "Name",
		Options: []host.OperatorOption{{Label: "By date"}, {Label: "By feature"}},
	}
)

// layouts has previews, thirty has more rows than fit, and long has texts of the lengths that broke others.
var (
	layouts = host.OperatorQuestion{
		Question: "Which layout?", Header: "Layout",
		Options: []host.OperatorOption{
			{Label: "Flat", Description: "everything at the top", Preview: "main.go\nserve.go\nstore.go\n" + strings.Repeat("more.go\n", 30)},
			{Label: "Nested", Description: "a folder a thing"},
		},
	}
	thirty = func() host.OperatorQuestion {
		q := host.OperatorQuestion{Question: "Which region?", Header: "Region"}
		for i := range 30 {
			q.Options = append(q.Options, host.OperatorOption{Label: fmt.Sprintf("region %d", i+1)})
		}
		return q
	}()
	long = host.OperatorQuestion{
		Question: strings.Repeat("A question of three thousand characters has to be reachable to its end. ", 42), Header: "Long",
		Options: []host.OperatorOption{
			{Label: "One", Description: strings.Repeat("One description of fifteen hundred characters. ", 32)},
			{Label: "Two", Description: strings.Repeat("Two description of fifteen hundred characters. ", 32)},
			{Label: "Three", Description: strings.Repeat("Three description of fifteen hundred characters. ", 31)},
			{Label: "Four", Description: strings.Repeat("Four description of fifteen hundred characters. ", 31)},
		},
	}
)

var builder = host.Asker{Agent: "scripted", Path: []string{"tests"}, Dir: "/project"}

// asks is an agent that asks once and quotes what it got.
func asks(qs ...host.OperatorQuestion) play {
	return func(ctx context.Context, ask func(host.Asker, ...host.OperatorQuestion) (map[string]any, error), say func(string)) error {
		say("I will look around first.")
		answers, err := ask(builder, qs...)
		if err != nil {
			say(fmt.Sprintf("Nobody answered: %v.", err))
			return ctx.Err()
		}
		say(fmt.Sprintf("The operator answered %v.", answers))
		return nil
	}
}

// Each step is one screen; the test's name is its golden file.
func TestScreens(t *testing.T) {
	one, three := []host.OperatorQuestion{database}, []host.OperatorQuestion{database, checks, releaseName}
	for _, tc := range []struct {
		name string
		qs   []host.OperatorQuestion
		keys []string
		see  string
	}{
		{name: "single", qs: one, see: "Postgres"},
		{name: "single-lit", qs: one, keys: []string{"3"}, see: "> 3 ( ) None yet"},
		{name: "own-answer", qs: one, keys: []string{"i", "15:00 own"}, see: "> own answer: 15:00 own"},
		{name: "own-answer-draft", qs: one, keys: []string{"i", "15:00 own", "Esc"}, see: "draft"},
		{name: "decline", qs: one, keys: []string{"^X", "not today"}, see: "not today"},
		{name: "multi", qs: three, keys: []string{"Enter", "Space", "Down", "Down", "Space"}, see: "2 ticked"},
		{name: "multi-nothing-ticked", qs: []host.OperatorQuestion{checks}, keys: []string{"Enter"}, see: "nothing is ticked"},
		{name: "review", qs: three, keys: []string{"Tab", "Space", "Tab", "i", "Nova", "Tab"}, see: "This is what the agent will get"},
		{name: "folded", qs: three, keys: []string{"2", "Enter", "Esc"}, see: "folded, 1 of 3 answered"},
		{name: "note", qs: one, keys: []string{"n", "only on linux", "Enter"}, see: "note:       only on linux"},
		{name: "preview", qs: []host.OperatorQuestion{layouts}, keys: []string{"p"}, see: "preview 1-"},
		{name: "filter", qs: []host.OperatorQuestion{thirty}, keys: []string{"/", "region 2", "Enter"}, see: "rows contain"},
		{name: "thirty", qs: []host.OperatorQuestion{thirty}, keys: []string{"PgDn", "PgDn", "Down"}, see: "^ 2"},
		{name: "long", qs: []host.OperatorQuestion{long}, keys: []string{"2", "PgDn"}, see: "lines "},
		{name: "help", qs: three, keys: []string{"?"}, see: "Keys in this ask"},
		{name: "quit-once", qs: one, keys: []string{"^C"}, see: "^C again quits"},
	} {
		for _, size := range [][2]int{{80, 24}, {40, 12}} {
			t.Run(fmt.Sprintf("%s-%dx%d", tc.name, size[0], size[1]), func(t *testing.T) {
				s := open(t, size[0], size[1], asks(tc.qs...))
				s.see("idle")
				s.prompt()
				s.see("5:00")
				s.rest()
				s.press(tc.keys...)
				if size[0] >= 80 {
					s.see(tc.see)
				}
				if tc.name == "folded" {
					s.see("? tests asks", "asking")
				}
				s.golden()
			})
		}
	}
}
