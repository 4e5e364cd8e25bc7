package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host"
)

// Desk is what the operator has written in a session and not sent, and what was sent, for going back to it. It is
// exactly what was typed; on the disk known secrets are replaced, as everywhere.
type Desk struct {
	Prompt  string   `json:"prompt,omitempty"`  // stands in the composer
	Kept    []string `json:"kept,omitempty"`    // texts of asks that ended
	History []string `json:"history,omitempty"` // prompts, oldest first
}

// deskName is the file in a session's directory that holds what its trace does not.
const deskName = "desk.json"

// deskEvery is how long after a change at the most the file is written; what was typed since is lost when the
// process is killed.
const deskEvery = 250 * time.Millisecond

// deskFile is what is kept so that a session can be taken up again by another process.
type deskFile struct {
	Version      int       `json:"v"`
	Title        string    `json:"title,omitempty"` // as it was given; its directory's name is none
	Agent        string    `json:"agent"`
	Model        string    `json:"model,omitempty"`
	Dir          string    `json:"dir"`
	Access       string    `json:"access"`
	Conversation string    `json:"conversation,omitempty"`
	Queue        []string  `json:"queue,omitempty"`
	Desk         Desk      `json:"desk"`
	Asks         []keptAsk `json:"asks,omitempty"` // that are open
	Owed         []keptAsk `json:"owed,omitempty"` // that the operator has ended, and the agent is not known to know of
}

// keptAsk is an open ask with what the operator has made of it.
type keptAsk struct {
	ID        string                  `json:"id"`
	Asker     host.Asker              `json:"asker"`
	Questions []host.OperatorQuestion `json:"questions"` // safe
	Drafts    []host.Draft            `json:"drafts"`
	Wait      time.Duration           `json:"wait"`
	Lost      bool                    `json:"lost,omitempty"` // the call that asked is gone: the answer goes as a message
	Said      string                  `json:"said,omitempty"` // what the agent is told, word for word; see words
}

const deskVersion = 1

// keeper writes a session's desk when it has changed.
type keeper struct {
	dirty chan struct{} // holds one
	stop  chan struct{}
	done  chan struct{} // closed when the goroutine has ended
}

func newKeeper() *keeper {
	return &keeper{dirty: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
}

// touch says that the desk has changed.
func (s *Session) touch() {
	select {
	case s.keeper.dirty <- struct{}{}:
	default:
	}
}

// keepDesk is the keeper's goroutine. Close waits for it.
func (s *Session) keepDesk() {
	k := s.keeper
	defer close(k.done)
	for {
		select {
		case <-k.dirty:
		case <-k.stop:
			select {
			case <-k.dirty:
				s.saveDesk()
			default:
			}
			return
		}
		s.saveDesk()
		pause := time.NewTimer(deskEvery)
		select {
		case <-pause.C:
		case <-k.stop:
		}
		pause.Stop()
	}
}

func (s *Session) saveDesk() {
	s.saving.Lock() // an older desk must not come after a newer one
	defer s.saving.Unlock()
	now := s.deskNow()
	for i := range now.Owed {
		now.Owed[i] = s.exactly(now.Owed[i])
	}
	data, err := json.Marshal(now)
	if err == nil {
		err = writeWhole(filepath.Join(s.dir, deskName), s.m.trace.Redact.JSON(data))
	}
	if err != nil {
		s.sayIncomplete("what you typed", err)
	}
}

// deskNow collects what is to be kept.
func (s *Session) deskNow() deskFile {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := deskFile{
		Version: deskVersion, Agent: s.opt.Command.Name, Model: s.opt.Model, Dir: s.opt.Dir, Access: string(s.access),
		Conversation: s.conversation, Queue: slices.Clone(s.queue), Desk: s.desk,
	}
	if s.named {
		f.Title = s.title
	}
	for _, w := range slices.SortedFunc(maps.Values(s.watched), byAge) {
		f.Asks = append(f.Asks, w.keep())
	}
	f.Asks = append(f.Asks, s.reopen...)
	f.Owed = slices.SortedFunc(maps.Values(s.sent), func(a, b keptAsk) int { return strings.Compare(a.ID, b.ID) })
	if s.running != nil {
		f.Owed = append(f.Owed, s.running.carries...)
	}
	f.Owed = append(f.Owed, s.owed...)
	return f
}

// watchedAsk is an open ask whose drafts are kept.
type watchedAsk struct {
	ask     host.Ask
	reopens string        // the ask of an earlier process, whose call is lost
	over    chan struct{} // closed when it has its end
}

func (w *watchedAsk) keep() keptAsk {
	info := w.ask.Info()
	k := keptAsk{ID: info.ID, Asker: info.Asker, Questions: info.Questions, Wait: info.Wait, Lost: w.reopens != ""}
	for i := range info.Questions {
		k.Drafts = append(k.Drafts, w.ask.Draft(i))
	}
	return k
}

// unsent are the texts that the operator typed into the ask.
func (k keptAsk) unsent() []string {
	var out []string
	for _, d := range k.Drafts {
		for _, text := range []string{d.Note, d.Text} {
			if strings.TrimSpace(text) != "" {
				out = append(out, text)
			}
		}
	}
	return out
}

func byAge(a, b *watchedAsk) int { return a.ask.Info().Opened.Compare(b.ask.Info().Opened) }

// watch keeps the drafts of an ask until it has its end.
func (s *Session) watch(a host.Ask) {
	if a.Info().Kind == host.KindProposal {
		return // it has no drafts, and is not asked again
	}
	id := a.Info().ID
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, open := s.asks[id]; !open || s.closing {
		return
	}
	w := &watchedAsk{ask: a, reopens: a.Info().Reopens, over: make(chan struct{})}
	s.watched[id] = w
	s.touch()
	changed := a.Changed()
	s.watches.Go(func() {
		for {
			select {
			case <-changed:
				changed = a.Changed() // before it is looked at
				s.touch()
			case <-w.over:
				return
			}
		}
	})
}

// unwatchLocked lets an ask go that has its end.
func (s *Session) unwatchLocked(id string) {
	if w := s.watched[id]; w != nil {
		close(w.over)
		delete(s.watched, id)
		if s.closing && w.reopens == "" { // no surface is there any more to keep what was typed
			s.desk.Kept = append(slices.Clone(s.desk.Kept), w.keep().unsent()...)
		}
	}
	s.touch()
}

// Desk implements Client.
func (s *Session) Desk(context.Context) (Desk, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.desk, nil
}

// SetDesk implements Client.
func (s *Session) SetDesk(_ context.Context, d Desk) error {
	d.Kept, d.History = slices.Clone(d.Kept), slices.Clone(d.History)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return ErrClosed
	}
	s.desk = d
	s.touch()
	return nil
}

// readDesk returns what was kept in a session's directory; the zero value when nothing was.
func readDesk(dir string) (deskFile, error) {
	var f deskFile
	data, err := os.ReadFile(filepath.Join(dir, deskName))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return f, nil
	case err != nil:
		return f, err
	}
	if err := json.Unmarshal(data, &f); err != nil {
		return deskFile{}, fmt.Errorf("%s: %w", deskName, err)
	}
	if f.Version > deskVersion {
		return deskFile{}, fmt.Errorf("%s is of a later kitsoki (version %d)", deskName, f.Version)
	}
	return f, nil
}

// setAside keeps a desk that cannot be read, such as one of a later kitsoki, out of the way of the next one.
func setAside(dir string) error {
	path := filepath.Join(dir, deskName)
	return os.Rename(path, path+".unread")
}

// writeWhole puts a file in place of the one that is there, readable by its owner alone. Whoever reads finds the one
// or the other.
func writeWhole(path string, data []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*") // 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Left is what is kept of a session beside its trace, for a list of sessions.
type Left struct {
	Title  string `json:"title,omitempty"`
	Queued int    `json:"queued,omitempty"`
	Draft  bool   `json:"draft,omitempty"` // something was being written
	Asks   int    `json:"open_asks,omitempty"`
}

// LeftIn reads what is kept in a session's directory; the zero value when nothing is.
func LeftIn(dir string) (Left, error) {
	f, err := readDesk(dir)
	return Left{
		Title: askbridge.Safe(f.Title), Queued: len(f.Queue), Draft: f.Desk.Prompt != "" || len(f.Desk.Kept) > 0, Asks: len(f.Asks),
	}, err
}
