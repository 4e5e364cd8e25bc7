package teatest

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"example.com/kitsoki/host"
)

// scripts of many signs: wide ones, joined ones, and some that are written from right to left.
var worldwide = host.OperatorQuestion{
	Question: "どのデータベースを使いますか？ 哪个数据库？ איזה מסד נתונים?", Header: "データベース選択",
	Options: []host.OperatorOption{
		{Label: "繁體中文 A1", Description: "全形字元 ｆｕｌｌ ｗｉｄｔｈ"},
		{Label: "👩‍👩‍👧 family", Description: "a sign of several, joined; ⚠️ with a selector"},
		{Label: "ｆｕｌｌ", Description: "العربية من اليمين إلى اليسار"},
		{Label: "e\u0301 combining", Description: "naïve café"},
	},
}

// prose has every sign of light markdown.
var prose = host.OperatorQuestion{
	Question: "## Which way?\nThe **race** job takes *nine* minutes; see `make test` and [the log](https://example.com/log?id=7).\n\n" +
		"| job | time |\n|---|---|\n| race | 9 min |\n| fuzz | 1 min |\n\n- keep it\n- drop it\n\n```go\nfunc main() {}\n```",
	Header: "Way", Options: []host.OperatorOption{
		{Label: "Keep", Description: "**safe**, and `slow`"}, {Label: "Drop (Recommended)", Description: "1. fast\n2. risky"},
	},
}

// Whole screens of the pages around a question. The test's name is the golden file.
func TestPages(t *testing.T) {
	talk := func(ctx context.Context, ask func(host.Asker, ...host.OperatorQuestion) (map[string]any, error), say func(string)) error {
		say("I looked at **both** ways.\n\n- one keeps what is there\n- the other starts anew")
		_, err := ask(builder, prose)
		return err
	}
	three := together(simple("api", database), simple("web", database), simple("docs", releaseName, checks))
	for _, tc := range []struct {
		name  string
		play  play
		first [2]string  // what says, wide and narrow, that all have asked
		keys  [][]string // with a rest between the groups
		see   []string
	}{
		{name: "inbox", play: three, first: [2]string{"1 of 3", "1/3"}, keys: [][]string{{"^O"}, {"Down", "2"}}, see: []string{"Enter sends “SQLite” to web"}},
		{name: "inbox-settled", play: three, first: [2]string{"1 of 3", "1/3"}, keys: [][]string{{"2", "Enter", "see web"}, {"^X", "not now"}, {"Enter", "see docs"}, {"^O", "see 2 settled"}, {"Tab"}}, see: []string{"settled: 2 of 2", "not now"}},
		{name: "inbox-over", play: three, first: [2]string{"1 of 3", "1/3"}, keys: [][]string{{"^O"}, {"1", "Enter", "see 1 settled"}, {"Up"}}, see: []string{"inbox: 2 open"}},
		{name: "sessions", play: three, first: [2]string{"1 of 3", "1/3"}, keys: [][]string{{"Esc", "^L"}}, see: []string{"sessions: 1", "asking 3"}},
		{name: "peek", play: talk, first: [2]string{"1 of 1", "1/1"}, keys: [][]string{{"v"}}, see: []string{"last words", "one keeps"}},
		{name: "worldwide", play: asks(worldwide), first: [2]string{"1 of 1", "1/1"}, keys: [][]string{{"2"}}, see: []string{"family"}},
		{name: "markdown", play: talk, first: [2]string{"1 of 1", "1/1"}, keys: [][]string{{"Down"}}, see: []string{"Keep"}},
		{name: "markdown-log", play: talk, first: [2]string{"1 of 1", "1/1"}, keys: [][]string{{"Esc"}}, see: []string{"folded", "one keeps"}},
		{name: "ask-back", play: asks(database, checks), first: [2]string{"1 of 1", "1/1"}, keys: [][]string{{"2", "Enter"}, {"e", "which one do the others use?"}}, see: []string{"explain"}},
	} {
		for _, size := range [][2]int{{80, 24}, {40, 12}} {
			t.Run(fmt.Sprintf("%s-%dx%d", tc.name, size[0], size[1]), func(t *testing.T) {
				s := open(t, size[0], size[1], tc.play)
				s.prompt()
				s.see("5:00", tc.first[min(1, 80/size[0]-1)])
				for _, group := range tc.keys {
					s.rest()
					for _, k := range group {
						if text, ok := strings.CutPrefix(k, "see "); ok {
							s.see(text)
						} else {
							s.press(k)
						}
					}
				}
				s.see(tc.see...)
				s.golden()
			})
		}
	}
}
