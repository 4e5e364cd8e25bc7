package settings

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
)

// environment is a made-up one with a home of its own, and a file of settings when there is text for one.
func environment(t *testing.T, file string, vars ...string) (getenv func(string) string, path string) {
	t.Helper()
	env := map[string]string{"HOME": t.TempDir()}
	for i := 0; i+1 < len(vars); i += 2 {
		env[vars[i]] = vars[i+1]
	}
	getenv = func(name string) string { return env[name] }
	path = Path(getenv)
	if file != "" {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return getenv, path
}

func load(t *testing.T, file string, vars ...string) Settings {
	t.Helper()
	getenv, _ := environment(t, file, vars...)
	s, err := Load(getenv)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestPath(t *testing.T) {
	for name, c := range map[string]struct{ xdg, home, want string }{
		"XDG_CONFIG_HOME":            {"/cfg", "/h", "/cfg/kitsoki/config.yaml"},
		"a relative one is left out": {"cfg", "/h", "/h/.config/kitsoki/config.yaml"},
		"below HOME without it":      {"", "/h", "/h/.config/kitsoki/config.yaml"},
		"nowhere without both":       {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			env := map[string]string{"XDG_CONFIG_HOME": c.xdg, "HOME": c.home}
			if got := Path(func(k string) string { return env[k] }); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestNothingSetIsTheDefault(t *testing.T) {
	want := Default()
	for name, file := range map[string]string{
		"no file": "", "only a comment": "# nothing\n", "keys without values": "theme:\nnotify:\n  bell:\nkeys:\n",
	} {
		t.Run(name, func(t *testing.T) {
			got := load(t, file)
			if len(got.Keys) != 0 || got.Where("theme") != "" {
				t.Errorf("something was set: %+v", got)
			}
			got.Keys, got.places = nil, nil
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

// What the command offers and what may be set here are told in two places, as the packages may not know each other.
func TestDefaultsAgreeWithTheHost(t *testing.T) {
	d := Default()
	if d.AskWait != host.DefaultWait {
		t.Errorf("ask_wait is %s, and the host waits %s", d.AskWait, host.DefaultWait)
	}
	if d.Access != string(agent.Gated) {
		t.Errorf("access is %q, and the command's default %q", d.Access, agent.Gated)
	}
	for _, access := range Accesses() {
		if _, err := agent.ParseAccess(access); err != nil {
			t.Error(err)
		}
	}
}

const everything = `# all of it
agent: scripted
model: opus
access: read
ask_wait: 90s
theme: 16
keys:
  submit: ctrl+s
  up: [up, w]
  row: [1, 2]
notify:
  bell: false
  osc: 777
  title: true
  on_ask: [notify-send, an agent asks]
  after: 1m
copy:
  osc52: true
log: ~/events.jsonl
on_hangup: end
elsewhere: off
`

func TestFileSetsEverything(t *testing.T) {
	getenv, path := environment(t, everything)
	s, err := Load(getenv)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"agent": ":2:8", "theme": ":6:8", "keys.submit": ":8:11", "keys.up": ":9:7", "notify.bell": ":12:9", "log": ":19:6", "": "",
	} {
		if want != "" {
			want = path + want
		}
		if got := s.Where(key); got != want {
			t.Errorf("%s is from %q, want %q", key, got, want)
		}
	}
	s.places = nil
	want := Settings{
		Agent: "scripted", Model: "opus", Access: "read", AskWait: 90 * time.Second, Theme: "16", OnHangup: "end", Elsewhere: "off",
		Keys:   map[string][]string{"submit": {"ctrl+s"}, "up": {"up", "w"}, "row": {"1", "2"}},
		Notify: Notify{OSC: "777", Title: true, OnAsk: []string{"notify-send", "an agent asks"}, After: time.Minute},
		Copy:   Copy{OSC52: true}, Log: filepath.Join(getenv("HOME"), "events.jsonl"),
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
}

// Every field has a variable, and every variable stands over the file.
func TestEnvironmentStandsOverTheFile(t *testing.T) {
	s := load(t, everything,
		"KITSOKI_AGENT", "claude", "KITSOKI_MODEL", "haiku", "KITSOKI_ACCESS", "full", "KITSOKI_ASK_WAIT", "2m",
		"KITSOKI_THEME", "light", "KITSOKI_KEYS", "{submit: f2, own: o}", "KITSOKI_NOTIFY_BELL", "true",
		"KITSOKI_NOTIFY_OSC", "off", "KITSOKI_NOTIFY_TITLE", "false", "KITSOKI_NOTIFY_ON_ASK", "beep; beep",
		"KITSOKI_NOTIFY_AFTER", "0s", "KITSOKI_COPY_OSC52", "false", "KITSOKI_LOG", "here.jsonl",
		"KITSOKI_ON_HANGUP", "stay", "KITSOKI_ELSEWHERE", "open")
	for _, f := range fields() {
		if got := s.Where(f.key); got != f.variable() {
			t.Errorf("%s is from %q", f.key, got)
		}
	}
	if got := s.Where("keys.submit"); got != "KITSOKI_KEYS:1:10" {
		t.Errorf("keys.submit is from %q", got)
	}
	s.places = nil
	want := Settings{
		Agent: "claude", Model: "haiku", Access: "full", AskWait: 2 * time.Minute, Theme: "light", OnHangup: "stay", Elsewhere: "open",
		Keys:   map[string][]string{"submit": {"f2"}, "own": {"o"}, "up": {"up", "w"}, "row": {"1", "2"}},
		Notify: Notify{Bell: true, OSC: "off", OnAsk: []string{"sh", "-c", "beep; beep"}}, Log: "here.jsonl",
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
}

func TestForms(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		got  func(Settings) any
		want any
	}{
		"off is a text":          {"notify: {osc: off}", func(s Settings) any { return s.Notify.OSC }, "off"},
		"a number as a model":    {"model: 5", func(s Settings) any { return s.Model }, "5"},
		"a command for a shell":  {"notify:\n  on_ask: |\n    beep\n", func(s Settings) any { return s.Notify.OnAsk[2] }, "beep\n"},
		"no command":             {"notify: {on_ask: []}", func(s Settings) any { return len(s.Notify.OnAsk) }, 0},
		"an anchor is its value": {"theme: &mine dark", func(s Settings) any { return s.Theme }, "dark"},
		"at once":                {"notify: {after: 0s}", func(s Settings) any { return s.Notify.After }, time.Duration(0)},
		"keys that YAML knows": {"keys: {help: ?, more: +, filter: /, note: \"~\"}", func(s Settings) any {
			return s.Keys["help"][0] + s.Keys["more"][0] + s.Keys["filter"][0] + s.Keys["note"][0]
		}, "?+/~"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.got(load(t, c.file)); got != c.want {
				t.Errorf("got %#v, want %#v", got, c.want)
			}
		})
	}
}

func TestSentences(t *testing.T) {
	const top = "agent, model, access, ask_wait, on_hangup, elsewhere, theme, keys, notify, copy or log"
	const command = "use a text for a shell, or a list of a program and its arguments"
	const keys = "use a key such as ctrl+s, or a list of keys"
	for name, c := range map[string]struct{ file, want string }{
		"an unknown key":              {"thema: dark", `:1:1: there is no setting "thema"; use ` + top},
		"an unknown key further down": {"theme: dark\nnotify:\n  bel: true", `:3:3: there is no setting "notify.bel"; use bell, osc, title, on_ask or after`},
		"an unknown key of copy":      {"copy: {osc53: true}", `:1:8: there is no setting "copy.osc53"; use osc52`},
		"a dotted key":                {"notify.bell: true", `:1:1: there is no setting "notify.bell"; use ` + top},
		"a number as a key":           {"1: 2", `:1:1: there is no setting "1"; use ` + top},
		"a list as the file":          {"- theme", `:1:1: the file is a list; use a map with ` + top},
		"a text as the file":          {"dark", `:1:1: the file is a text; use a map with ` + top},
		"agent":                       {"agent: codex", `:1:8: agent is "codex"; use claude or scripted`},
		"model":                       {"model: [a]", `:1:8: model is a list; use the model's name`},
		"model with an escape":        {`model: "a\eb"`, `:1:8: model is "a\x1bb"; use the model's name`},
		"access":                      {"access: all", `:1:9: access is "all"; use read, ask, edit or full`},
		"ask_wait without a unit":     {"ask_wait: 5", `:1:11: ask_wait is "5"; use a duration above zero such as 90s or 5m`},
		"ask_wait of nothing":         {"ask_wait: 0s", `:1:11: ask_wait is "0s"; use a duration above zero such as 90s or 5m`},
		"ask_wait as a map":           {"ask_wait:\n  m: 5", `:2:3: ask_wait is a map; use a duration above zero such as 90s or 5m`},
		"theme":                       {"\n\ntheme:   blue # nice", `:3:10: theme is "blue"; use auto, light, dark, none or 16`},
		"theme as a tagged value":     {"theme: !!str dark", `:1:8: theme is a tagged value; use auto, light, dark, none or 16`},
		"theme as an alias":           {"model: &x dark\ntheme: *x", `:2:8: theme is an alias; use auto, light, dark, none or 16`},
		"notify":                      {"notify: loud", `:1:9: notify is a text; use a map with bell, osc, title, on_ask or after`},
		"notify.bell":                 {"notify: {bell: yes}", `:1:16: notify.bell is "yes"; use true or false`},
		"notify.osc":                  {"notify: {osc: 99}", `:1:15: notify.osc is "99"; use off, 9 or 777`},
		"notify.title":                {"notify: {title: 1}", `:1:17: notify.title is "1"; use true or false`},
		"notify.on_ask":               {"notify: {on_ask: {a: b}}", `:1:18: notify.on_ask is a map; ` + command},
		"notify.on_ask no program":    {"notify: {on_ask: [\"\", b]}", `:1:18: notify.on_ask is a list; ` + command},
		"notify.on_ask an item":       {"notify:\n  on_ask:\n  - a\n  - [b]", `:4:5: an item of notify.on_ask is a list; use only texts in the list`},
		"notify.on_ask an empty item": {"notify:\n  on_ask: [a, ~]", `:2:15: an item of notify.on_ask is nothing; use only texts in the list`},
		"notify.after":                {"notify: {after: -1s}", `:1:17: notify.after is "-1s"; use a duration such as 90s or 5m`},
		"copy":                        {"copy: true", `:1:7: copy is a text; use a map with osc52`},
		"copy.osc52":                  {"copy: {osc52: maybe}", `:1:15: copy.osc52 is "maybe"; use true or false`},
		"log":                         {"log: [a]", `:1:6: log is a list; use the path of a file`},
		"keys":                        {"keys: vim", `:1:7: keys is "vim"; use a map of a binding's name to a key such as ctrl+s, or a list of keys`},
		"a binding as a map":          {"keys: {submit: {a: b}}", `:1:16: keys.submit is a map; ` + keys},
		"a binding with an odd item":  {"keys: {submit: [a, [b]]}", `:1:20: an item of keys.submit is a list; ` + keys},
		"a binding without a key":     {"keys: {submit: }", `:1:15: keys.submit names no key; ` + keys + ", and quotes around ~"},
		"a binding with no keys":      {"keys: {submit: []}", `:1:16: keys.submit is a list; ` + keys},
		"a binding with an empty key": {"keys: {submit: \"\"}", `:1:16: keys.submit is ""; ` + keys},
		"a binding that is a number":  {"keys: {1: a}", `:1:8: here is no binding's name; use one such as submit`},
		"the same key twice":          {"theme: dark\ntheme: light", `:2:1: this is not valid YAML: mapping key "theme" already defined at [1:1]`},
		"no YAML":                     {"theme: [dark", `:1:8: this is not valid YAML: sequence end token ']' not found`},
		"a tab":                       {"notify:\n\tbell: true", `:2:1: this is not valid YAML: found character ' ' that cannot start any token`},
		"two documents":               {"theme: dark\n---\nmodel: x", `:3:1: here a second document starts; use only one`},
	} {
		t.Run(name, func(t *testing.T) {
			getenv, path := environment(t, c.file)
			_, err := Load(getenv)
			if err == nil {
				t.Fatal("it was taken")
			}
			if err.Error() != path+c.want {
				t.Errorf("got  %s\nwant %s", strings.TrimPrefix(err.Error(), path), c.want)
			}
		})
	}
}

func TestSentencesAboutVariables(t *testing.T) {
	for name, c := range map[string]struct{ variable, text, want string }{
		"theme":   {"KITSOKI_THEME", "blue", `KITSOKI_THEME: theme is "blue"; use auto, light, dark, none or 16`},
		"bell":    {"KITSOKI_NOTIFY_BELL", "1", `KITSOKI_NOTIFY_BELL: notify.bell is "1"; use true or false`},
		"keys":    {"KITSOKI_KEYS", "vim", `KITSOKI_KEYS:1:1: keys is "vim"; use a map of a binding's name to a key such as ctrl+s, or a list of keys`},
		"no YAML": {"KITSOKI_KEYS", "{a", `KITSOKI_KEYS:1:2: this is not valid YAML: could not find flow map content`},
	} {
		t.Run(name, func(t *testing.T) {
			getenv, _ := environment(t, "theme: dark", c.variable, c.text)
			s, err := Load(getenv)
			if err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if !reflect.DeepEqual(s, Default()) {
				t.Errorf("a failed load left %+v", s)
			}
		})
	}
}

func TestUnreadableFile(t *testing.T) {
	getenv, path := environment(t, "")
	if err := os.MkdirAll(path, 0o700); err != nil { // a directory cannot be read even by root
		t.Fatal(err)
	}
	_, err := Load(getenv)
	want := path + ": the settings cannot be read (is a directory); make the file readable or move it away"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestFileInTheWay(t *testing.T) {
	getenv, path := environment(t, "")
	if err := os.MkdirAll(filepath.Dir(filepath.Dir(path)), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Dir(path), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Load(getenv)
	want := path + ": the settings cannot be read (not a directory); make the file readable or move it away"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestFileThatIsTooLong(t *testing.T) {
	getenv, path := environment(t, "# "+strings.Repeat("x", maxSize))
	_, err := Load(getenv)
	want := path + ": the settings are longer than 1 MiB; is this the right file?"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// Whatever stands in the file, it is taken or refused with one line that names the file, and nothing panics.
func FuzzReadYAML(f *testing.F) {
	f.Add(everything)
	f.Add("keys: {a: &x [b, *x], ? c : d, <<: {e: f}}")
	f.Add("keys: {\"a\\e\": [[]]}")
	f.Add("a: !!map {b: |\n  c\n}")
	f.Fuzz(func(t *testing.T, src string) {
		s := Default()
		s.Keys, s.places = map[string][]string{}, map[string]string{}
		err := s.readYAML("f", []byte(src))
		if err != nil && (!strings.HasPrefix(err.Error(), "f:") || strings.ContainsFunc(err.Error(), unicode.IsControl)) {
			t.Errorf("%q", err)
		}
	})
}
