package teatest

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/rivo/uniseg"

	"example.com/kitsoki/host"
)

// numbered is a text of n numbered words, so that a test can tell which of them were on the screen.
func numbered(prefix string, n, size int) string {
	var b strings.Builder
	for i := range n {
		word := fmt.Sprintf("%s%03d", prefix, i)
		b.WriteString(word + strings.Repeat(".", max(0, size/n-len(word)-1)) + " ")
	}
	return strings.TrimSpace(b.String())
}

// S1 (rpiv-mono#33, gajae-code#3675) and Beat 6: a question of 3,000 characters and four descriptions of 1,500 can be
// read to the last word, at both sizes; the lit row's label and the own answer's row are in view all the time.
func TestEverythingLongCanBeRead(t *testing.T) {
	q := host.OperatorQuestion{Question: numbered("q", 150, 3000), Header: "Long"}
	for i := range 4 {
		q.Options = append(q.Options, host.OperatorOption{Label: fmt.Sprintf("row %c", 'A'+i), Description: numbered(string(rune('a'+i)), 75, 1500)})
	}
	atSizes(t, func(t *testing.T, w, h int) {
		s, r := asked(t, w, h, q)
		seen := map[string]bool{}
		word := regexp.MustCompile(`[a-q]\d{3}`)
		read := func(row string) {
			view := s.view()
			for _, found := range word.FindAllString(view, -1) {
				seen[found] = true
			}
			if !regexp.MustCompile(`(?m)^ > \d \( \) row `+row).MatchString(view) || !strings.Contains(view, "own answer:") || !strings.Contains(view, "? all") {
				t.Fatalf("the lit row, the own answer or the keys are out of view:\n%s", view)
			}
		}
		for range 160 {
			read("A")
			s.press("^D")
		}
		for i, row := range []string{"A", "B", "C", "D"} {
			s.press(fmt.Sprint(i + 1))
			for range 90 {
				read(row)
				if s.press("PgDn"); s.litRow() != fmt.Sprint(i+1) {
					break
				}
			}
		}
		for prefix, n := range map[string]int{"q": 150, "a": 75, "b": 75, "c": 75, "d": 75} {
			for i := range n {
				if word := fmt.Sprintf("%s%03d", prefix, i); !seen[word] {
					t.Fatalf("%s was never on the screen", word)
				}
			}
		}
		s.press("3")
		s.apart("Enter")
		r.got("row C")
	})
}

// Crush and Beat 6: the view follows the lit row, whichever key moves it and however the rows are long.
func TestTheViewFollowsTheLitRow(t *testing.T) {
	mixed := thirty
	mixed.Options = nil
	for i, o := range thirty.Options {
		if i%3 == 0 {
			o.Description = strings.Repeat("a longer description. ", 1+i)
		}
		mixed.Options = append(mixed.Options, o)
	}
	atSizes(t, func(t *testing.T, w, h int) {
		for _, q := range []host.OperatorQuestion{thirty, mixed} {
			s, _ := asked(t, w, h, q)
			row := 1
			for i, key := range strings.Fields(strings.Repeat("Down ", 29) + strings.Repeat("k ", 20) + "9 1 5 " + strings.Repeat("j ", 24)) {
				s.press(key)
				switch key {
				case "Down", "j":
					row++
				case "k":
					row--
				default:
					row = int(key[0] - '0')
				}
				if s.litRow() != fmt.Sprint(row) || !strings.Contains(s.view(), fmt.Sprintf("%2d ( ) region %d", row, row)) {
					t.Fatalf("after key %d, %s, row %d is not lit in view:\n%s", i+1, key, row, s.view())
				}
			}
		}
	})
}

// A resize while an ask is open keeps text, picks, place and page; going through a size that is too small as well.
func TestResizingKeepsEverything(t *testing.T) {
	for _, sizes := range [][4]int{{80, 24, 40, 12}, {40, 12, 80, 24}} {
		for _, through := range []bool{false, true} {
			t.Run(fmt.Sprint(sizes, through), func(t *testing.T) {
				s, r := asked(t, sizes[0], sizes[1], database, checks, thirty)
				turn := func() {
					if through {
						s.resize(20, 5)
						s.see("needs")
					}
					s.resize(sizes[2], sizes[3])
					sizes = [4]int{sizes[2], sizes[3], sizes[0], sizes[1]}
				}
				s.press("2", "Enter")
				s.see("[ ] lint")
				s.apart("Space", "Down", "Down", "Space", "i")
				s.press("half a wo")
				turn()
				s.see("half a wo")
				s.press("rd") // the field has the keyboard still
				s.apart("Enter")
				s.see("[x] race")
				s.apart("Enter")
				s.see("region 1")
				s.apart("PgDn", "PgDn", "Down")
				lit := s.litRow()
				turn()
				if s.litRow() != lit {
					t.Errorf("row %s was lit, %s is", lit, s.litRow())
				}
				s.apart("Enter")
				s.see("3 of 3 answered")
				turn()
				s.see("use or leave")
				s.apart("Enter")
				r.got("SQLite", []string{"lint", "race", "half a word"}, "region "+lit)
			})
		}
	}
}

// Crush: an ask folds to one line that counts the answers, the log is read meanwhile, and the ask is as it was left.
func TestFoldedWhileTheLogIsRead(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		s, r := asked(t, w, h, database, checks, thirty, when)
		s.press("Tab", "Space", "Tab", "Down", "Down", "Esc")
		s.see("folded, 0 of 4 answered", "I will look around first.")
		s.press("PgUp", "PgDn")
		s.see("folded, 0 of 4 answered")
		s.rest()
		s.tick() // it stays folded
		s.see("folded, 0 of 4 answered")
		r.waits()
		s.press("^O")
		s.see("> ", "region 3")
		if s.litRow() != "3" {
			t.Errorf("row %s is lit", s.litRow())
		}
		s.apart("Enter", "Esc")
		s.see("folded, 1 of 4 answered")
	})
}

// Beat 10: a preview scrolls by itself to its last line, at both sizes, and the list is as it was afterwards.
func TestAPreviewScrolls(t *testing.T) {
	q := layouts
	q.Options = []host.OperatorOption{{Label: "Flat", Preview: strings.ReplaceAll(numbered("p", 60, 300), " ", "\n")}, {Label: "Nested"}}
	atSizes(t, func(t *testing.T, w, h int) {
		s, r := asked(t, w, h, q)
		s.press("p")
		seen := map[string]bool{}
		for range 70 {
			for _, found := range regexp.MustCompile(`p\d{3}`).FindAllString(s.view(), -1) {
				seen[found] = true
			}
			s.press("PgDn")
		}
		if len(seen) < 60 {
			t.Errorf("%d of 60 lines were seen:\n%s", len(seen), s.view())
		}
		s.press("Esc")
		if s.litRow() != "1" {
			t.Errorf("row %s is lit", s.litRow())
		}
		s.press("Down")
		s.apart("Enter")
		r.got("Nested")
	})
}

// S3 (claude-code#72629): wide and combined characters leave no line longer than the screen, and what stands in a
// column stands there in every row. The terminal's own measure is cells, as uniseg counts them.
func TestWideLabelsKeepTheColumns(t *testing.T) {
	q := host.OperatorQuestion{Question: "繁體中文，哪一個？ ｆｕｌｌ", Header: "寬", Options: []host.OperatorOption{
		{Label: "繁體中文 A1", Description: "desc one"}, {Label: "👩‍👩‍👧 family", Description: "desc two"},
		{Label: "ｆｕｌｌ", Description: "desc three"}, {Label: "é e\u0301 🇨🇭", Description: "desc four"},
	}}
	atSizes(t, func(t *testing.T, w, h int) {
		s, r := asked(t, w, h, q)
		for n := range q.Options {
			s.press(fmt.Sprint(n + 1))
			columns := map[int]bool{}
			for line := range strings.SplitSeq(s.view(), "\n") {
				if width := uniseg.StringWidth(line); width > w {
					t.Errorf("%d cells of %d: %q", width, w, line)
				}
				if before, _, ok := strings.Cut(line, "desc "); ok {
					columns[uniseg.StringWidth(before)] = true
				}
			}
			if len(columns) != 1 {
				t.Errorf("the descriptions stand in columns %v:\n%s", columns, s.view())
			}
		}
		s.resize(30, 24) // below the smallest size a plain sentence stands, and no key answers
		s.see("needs 40x10", "1 ask")
		s.press("Enter")
		r.waits()
		s.resize(w, h)
		s.press("2")
		s.apart("Enter")
		r.got("👩‍👩‍👧 family")
	})
}

// S4 (vercel/ai#20052) and Beat 8 at both sizes: signs on the screen, and the label as it was to the agent.
func TestHostileTextAtBothSizes(t *testing.T) {
	text := "Pick\u001b]52;c;cm0gLXJm\u0007\u009b2J\u202Egnp"
	q := host.OperatorQuestion{Question: text, Header: text, Options: labels(text, "no")}
	atSizes(t, func(t *testing.T, w, h int) {
		s, rs := askedBy(t, w, h, asker{who: host.Asker{Agent: text, Path: []string{text}, Dir: text}, qs: []host.OperatorQuestion{q}}, simple("web", when))
		s.see("Pick‹ESC›")
		checkClean(t, s)
		for _, key := range []string{"^O", "Down", "Up", "1", "Esc", "PgUp", "^O", "y", "n", text, "Enter", "?", "x"} {
			s.apart(key)
			checkClean(t, s)
		}
		s.rest()
		rs[1].waits()
	})
}

// T8 (dust#28256) and Beat 11: a sub-agent's ask is named by its path, parent › child, in every place that names it.
func TestASubAgentIsNamedByItsPath(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		who := host.Asker{Agent: "build", Path: []string{"tests", "unit"}, Dir: "/src"}
		s, rs := askedBy(t, w, h, asker{who: who, qs: []host.OperatorQuestion{when}}, simple("web", when))
		s.until("names the path", func(view string) bool { return strings.Contains(firstLine(view), "build › tests › unit") })
		s.press("^O")
		s.see("> 1  build › tests › unit")
		s.press("Esc")
		if w == 80 {
			s.see("? build › tests › unit asks")
		}
		s.see("build › t")
		rs[0].waits()
	})
}

// Beat 10 and NO_COLOR (Claude): without colours there is no escape on any page, and a sign shows where the focus is.
func TestFocusIsASignWithoutColours(t *testing.T) {
	atSizes(t, func(t *testing.T, w, h int) {
		s, _ := asked(t, w, h, database, checks)
		plain := func(sign string) {
			t.Helper()
			s.see(sign)
			s.never("\x1b")
		}
		plain("> 1 ( ) Postgres")
		s.press("Down")
		plain("> 2 ( ) SQLite")
		s.press("i")
		plain("|")
		s.press("Esc", "Tab")
		plain("> 1 [ ] lint")
		s.press("Tab")
		plain("> 1 Which database")
		s.press("Esc", "Esc")
		plain("> |")
	})
}
