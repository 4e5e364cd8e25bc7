// Package settings reads what the operator wants by default: a YAML file, with KITSOKI_* variables over it. Flags
// stand over both and are the command's own business.
//
// Reading is strict, because a setting that is silently not taken is worse than none: an unknown key, a wrong type
// or a bad value is one sentence that says where it stands and what is allowed. The package imports goccy/go-yaml
// and the standard library, starts nothing and writes nothing.
package settings

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Settings are all settings, with the defaults where nothing was said.
type Settings struct {
	Agent   string        // which agent to run
	Model   string        // the agent's model as the agent names it; empty: its own default
	Access  string        // what the agent may do
	AskWait time.Duration // how long an ask waits for its answer; above zero
	Theme   string        // auto, light, dark, none or 16

	OnHangup  string // what becomes of the work when the terminal is lost: stay or end
	Elsewhere string // what becomes of asks of other kitsoki: list, open or off

	// Keys are changed bindings: the name of a binding to its keys, of which there is at least one. Whether
	// there are such bindings and such keys is for the package that has them to say.
	Keys map[string][]string

	Notify Notify
	Copy   Copy
	Log    string // a file that every event is also written to; empty: none

	places map[string]string
}

// Notify says how an operator who looks elsewhere is told of an ask.
type Notify struct {
	Bell  bool          // ring the terminal's bell
	OSC   string        // the terminal's notification: off, 9 or 777
	Title bool          // show open asks in the terminal's title
	OnAsk []string      // a program with its arguments; empty: none. A text became sh -c and the text
	After time.Duration // how long an ask is open before OnAsk runs; zero: at once
}

// Copy says how texts are copied.
type Copy struct {
	OSC52 bool // through the terminal, which also works over ssh
}

// Default returns the settings of somebody who set nothing.
func Default() Settings {
	return Settings{
		Agent:   "claude",
		Access:  "ask",
		AskWait: 5 * time.Minute,
		Theme:   "auto",

		OnHangup:  "stay",
		Elsewhere: "list",
		Notify:    Notify{Bell: true, OSC: "off", After: 20 * time.Second},
	}
}

// Where says where a setting such as "notify.osc" or "keys.submit" was made: the file with line and column, or the
// variable. It is empty for a default. A later check that refuses the value can put it before its sentence.
func (s Settings) Where(key string) string { return s.places[key] }

// Path returns where the file is looked for; empty when the environment names neither XDG_CONFIG_HOME nor HOME.
// As the XDG base directory specification wants it, a relative XDG_CONFIG_HOME does not count.
func Path(getenv func(string) string) string {
	base := getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(base) {
		home := getenv("HOME")
		if home == "" {
			return ""
		}
		base = filepath.Join(home, ".config")
	}
	return filepath.Join(base, "kitsoki", "config.yaml")
}

// maxSize is how long the file can be, in bytes. Whatever is longer is no file of settings.
const maxSize = 1 << 20

// Load reads the file at Path, if there is one, and the variables over it. An error is one sentence for the
// operator, with file, line and column, or with the variable; the settings are the defaults then.
func Load(getenv func(string) string) (Settings, error) {
	s := Default()
	s.Keys, s.places = map[string][]string{}, map[string]string{}
	if path := Path(getenv); path != "" {
		src, err := readFile(path)
		if err != nil {
			return Default(), err
		}
		if err := s.readYAML(path, src); err != nil {
			return Default(), err
		}
	}
	if err := s.readEnv(getenv); err != nil {
		return Default(), err
	}
	s.Log = expandHome(s.Log, getenv)
	return s, nil
}

// readFile returns the file; nothing when there is none.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer f.Close()
	src, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, unreadable(path, err)
	}
	if len(src) > maxSize {
		return nil, fmt.Errorf("%s: the settings are longer than 1 MiB; is this the right file?", path)
	}
	return src, nil
}

func unreadable(path string, err error) error {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = at.Err // it would name the path a second time
	}
	return fmt.Errorf("%s: the settings cannot be read (%w); make the file readable or move it away", path, err)
}

// readEnv takes what the variables say. An empty variable says nothing.
func (s *Settings) readEnv(getenv func(string) string) error {
	for _, f := range fields() {
		name := f.variable()
		text := getenv(name)
		if text == "" {
			continue
		}
		if err := s.take(f, value{at: name, kind: aText, texts: []string{text}}); err != nil {
			return err
		}
	}
	if text := getenv(keysVariable); text != "" {
		changes := Settings{Keys: map[string][]string{}, places: map[string]string{}}
		if err := changes.readKeysText(keysVariable, text); err != nil {
			return err
		}
		maps.Copy(s.Keys, changes.Keys)
		maps.Copy(s.places, changes.places)
	}
	return nil
}

// expandHome does what a shell would have done to ~/ at the start of a path.
func expandHome(path string, getenv func(string) string) string {
	rest, ok := strings.CutPrefix(path, "~/")
	if home := getenv("HOME"); ok && home != "" {
		return filepath.Join(home, rest)
	}
	return path
}
