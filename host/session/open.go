package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host/agent"
)

// Spec says what a new session is, in the words of a person or of another process.
type Spec struct {
	Title    string // empty: the name of its directory
	Agent    string // as ManagerOptions.Agent knows it
	Model    string // as the agent names it; empty: the agent's own choice
	Dir      string // an existing directory; empty: the process's own
	Access   string // empty: ask, where there is a gate, else edit
	Worktree string // makes a git worktree of Dir with this name, to work in; empty: none
}

// Opener opens sessions for a surface that shows several.
type Opener interface {
	// Open makes a session, in which nothing runs yet. An error is one sentence for the operator.
	Open(ctx context.Context, spec Spec) (Client, error)
	// Agents are the names that a Spec can have.
	Agents() []string
}

var _ Opener = (*Manager)(nil)

// Agents implements Opener.
func (m *Manager) Agents() []string { return m.opt.Agents }

// Open implements Opener.
func (m *Manager) Open(ctx context.Context, spec Spec) (Client, error) {
	s, err := m.OpenSession(ctx, spec)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// OpenSession is Open for who needs more of the session than a Client has.
func (m *Manager) OpenSession(ctx context.Context, spec Spec) (*Session, error) {
	opt := Options{Title: spec.Title, Model: spec.Model, Access: m.access()}
	var err error
	if spec.Access != "" {
		if opt.Access, err = agent.ParseAccess(spec.Access); err != nil {
			return nil, err
		}
	}
	if m.opt.Agent == nil {
		return nil, errors.New("this kitsoki opens no further sessions")
	}
	if opt.Command, err = m.opt.Agent(spec.Agent); err != nil {
		return nil, err
	}
	if opt.Dir, err = directory(spec.Dir); err != nil {
		return nil, err
	}
	if spec.Worktree != "" {
		if opt.Dir, _, err = AddWorktree(ctx, opt.Dir, spec.Worktree); err != nil {
			return nil, err
		}
	}
	s, err := m.New(opt)
	if err != nil {
		return nil, err
	}
	branch := Branch(ctx, opt.Dir)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.branch = branch
	return s, nil
}

// access is that of sessions of which nobody said one.
func (m *Manager) access() agent.Access {
	if m.opt.Gate.Exec == nil {
		return agent.Edit
	}
	return agent.Gated
}

// directory makes the path of an existing directory absolute. A leading ~ is the home directory, as in a shell.
func directory(path string) (string, error) {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("directory %s: %w", path, err)
		}
		path = home + rest
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("directory %q: %w", path, err)
	}
	info, err := os.Stat(abs)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("directory %s does not exist", abs)
	case err != nil:
		return "", fmt.Errorf("directory %s: %w", abs, err)
	case !info.IsDir():
		return "", fmt.Errorf("%s is not a directory", abs)
	}
	return abs, nil
}

// titleFor makes a title that no open session has: sessions are told apart by it.
func (m *Manager) titleFor(title, dir string, except *Session) string {
	title = strings.TrimSpace(strings.ReplaceAll(title, "\n", " "))
	if title == "" {
		title = filepath.Base(dir)
	}
	title = askbridge.Safe(cutRunes(title, maxTitleRunes))
	taken := func(name string) bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, s := range m.sessions {
			if s != except && s.titled() == name {
				return true
			}
		}
		return false
	}
	name := title
	for n := 2; taken(name); n++ {
		name = fmt.Sprintf("%s %d", title, n)
	}
	return name
}

const maxTitleRunes = 40

func (s *Session) titled() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return "" // its title is free again
	}
	return s.title
}

// Rename implements Client.
func (s *Session) Rename(_ context.Context, title string) error {
	if strings.TrimSpace(title) == "" {
		return errors.New("a title needs a letter; type one")
	}
	title = s.m.titleFor(title, s.opt.Dir, s)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.title, s.named = title, true
	s.touch()
	s.emit(Event{Kind: Changed})
	return nil
}

// continueLine is the command that continues the conversation in the agent's own terminal; empty when there is no
// conversation yet, or the agent has none.
func (s *Session) continueLineLocked() string {
	resume := s.opt.Command.Resume
	if s.conversation == "" || resume == nil {
		return ""
	}
	words := append([]string{s.opt.Command.Path}, append(append([]string{}, resume...), s.conversation)...)
	for i, w := range words {
		words[i] = shellQuote(w)
	}
	return askbridge.Safe("cd " + shellQuote(s.opt.Dir) + " && " + strings.Join(words, " "))
}

// shellQuote makes one word of a POSIX shell.
func shellQuote(word string) string {
	plain := func(r rune) bool {
		return (r >= 'a' && r <= 'z') || (r >= 'A' && r <= 'Z') || (r >= '0' && r <= '9') || strings.ContainsRune("-_./:@=+,%", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// Peek implements Client.
func (s *Session) Peek(ctx context.Context, path []string) (Peek, error) {
	p := s.recall.look(path)
	s.mu.Lock()
	p.CostUSD, p.Tokens = s.costUSD, s.tokens
	s.mu.Unlock()
	var err error
	p.Diff, err = WorkingDiff(ctx, s.opt.Dir)
	return p, err
}
