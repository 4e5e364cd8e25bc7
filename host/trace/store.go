package trace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The files in a session's directory.
const (
	FileName       = "trace.jsonl"
	TranscriptName = "transcript.jsonl"
)

// Stored is a session that a state directory holds a trace of.
type Stored struct {
	ID   string // the name of its directory
	Path string // of the trace
}

var (
	// ErrNoSession means that no session begins like that.
	ErrNoSession = errors.New("there is no such session")
	// ErrAmbiguous means that several sessions begin like that.
	ErrAmbiguous = errors.New("several sessions begin like that")
)

// Sessions lists the sessions of a state directory, oldest first: their ids begin with the time. A directory
// that does not exist holds none.
func Sessions(state string) ([]Stored, error) {
	entries, err := os.ReadDir(state)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var out []Stored
	for _, e := range entries {
		path := filepath.Join(state, e.Name(), FileName)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			out = append(out, Stored{ID: e.Name(), Path: path})
		}
	}
	return out, nil
}

// Find returns the session that is meant by an id, the beginning of one, or the word last.
func Find(state, name string) (Stored, error) {
	all, err := Sessions(state)
	if err != nil {
		return Stored{}, err
	}
	if name == "last" && len(all) > 0 {
		return all[len(all)-1], nil
	}
	match := slices.DeleteFunc(slices.Clone(all), func(s Stored) bool { return !strings.HasPrefix(s.ID, name) })
	switch {
	case len(match) == 1:
		return match[0], nil
	case len(match) == 0:
		return Stored{}, fmt.Errorf("session %q: %w", name, ErrNoSession)
	}
	if i := slices.IndexFunc(match, func(s Stored) bool { return s.ID == name }); i >= 0 {
		return match[i], nil
	}
	return Stored{}, fmt.Errorf("session %q: %w: %s and %s", name, ErrAmbiguous, match[0].ID, match[1].ID)
}

// Under lists every trace in a directory and all below it.
func Under(dir string) ([]Stored, error) {
	var out []Stored
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.Name() == FileName && e.Type().IsRegular() {
			out = append(out, Stored{ID: filepath.Base(filepath.Dir(path)), Path: path})
		}
		return nil
	})
	return out, err
}
