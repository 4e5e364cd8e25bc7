package teatest

import (
	"os"
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
