package teatest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/kitsoki/host/settings"
	"example.com/kitsoki/tui/keys"
)

// The page of settings names every binding with its keys and its places, and the file that it shows can be read.
func TestSettingsPageIsTrue(t *testing.T) {
	text, err := os.ReadFile("../docs/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, n := range keys.Default().Named() {
		row := "| `" + n.Name + "` | "
		for i, k := range n.Keys {
			if k == " " {
				k = "space"
			}
			if i > 0 {
				row += " "
			}
			row += "`" + k + "`"
		}
		var places []string
		for _, p := range n.Places {
			places = append(places, string(p))
		}
		row += " | " + n.Description + " | " + strings.Join(places, ", ") + " |"
		if !strings.Contains(page, row) {
			t.Errorf("docs/settings.md lacks the line\n%s", row)
		}
	}
	_, example, _ := strings.Cut(page, "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	home := t.TempDir()
	if err := os.MkdirAll(home+"/kitsoki", 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(home+"/kitsoki/config.yaml", []byte(example), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := settings.Load(func(name string) string { return map[string]string{"XDG_CONFIG_HOME": home}[name] })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keys.Default().With(s.Keys); err != nil {
		t.Error(err)
	}
}

// The pages that say which test shows what name tests that there are.
func TestPagesNameTestsThatThereAre(t *testing.T) {
	there := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w+)\(`)
	err := filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllSubmatch(text, -1) {
			there[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:Test|Benchmark|Fuzz)\\w+)")
	for _, page := range []string{"../docs/screen.md", "../docs/faults.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		found := named.FindAllSubmatch(text, -1)
		if len(found) < 20 {
			t.Errorf("%s names only %d tests", page, len(found))
		}
		for _, m := range found {
			if !there[string(m[1])] {
				t.Errorf("%s names %s, and there is no such test", page, m[1])
			}
		}
	}
}
