package session

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"time"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/trace"
)

// replayBytes bounds how much of a transcript is read again: its end, which is what an operator looks at.
const replayBytes = 8 << 20

// replay brings what a session's transcript says into its events, with the times that are known of it. It is called
// before anybody else knows of the session.
func (s *Session) replay(path string) error {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	r, err := lastBytes(f, replayBytes)
	if err != nil {
		return err
	}
	p := &replayer{s: s, lines: agent.NewReplay(s.opt.Command.Name, s.opt.Dir), n: &narrator{s: s, again: true, recall: &s.recall}}
	defer func() { s.then = time.Time{} }()
	for {
		line, err := r.ReadBytes('\n')
		if err != nil { // a torn last line says nothing
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		p.line(bytes.TrimSuffix(line, []byte("\n")))
	}
}

// lastBytes reads the last bytes of a file, from the start of a line.
func lastBytes(f *os.File, most int64) (*bufio.Reader, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	from := max(0, info.Size()-most)
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return nil, err
	}
	r := bufio.NewReaderSize(f, 64<<10)
	if from > 0 {
		if _, err := r.ReadBytes('\n'); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
	return r, nil
}

type replayer struct {
	s     *Session
	n     *narrator
	lines *agent.Replay
}

func (p *replayer) line(line []byte) {
	var own struct {
		Type  string          `json:"type"`
		Time  time.Time       `json:"time"`
		Event string          `json:"event"`
		Data  json.RawMessage `json:"data"`
	}
	if bytes.HasPrefix(line, []byte(`{"type":"kitsoki"`)) && json.Unmarshal(line, &own) == nil && own.Type == "kitsoki" {
		p.s.then = own.Time
		if e, err := (trace.Record{Event: own.Event, Data: own.Data}).Decode(); err == nil && e != nil {
			p.event(e)
		}
		return
	}
	p.lines.Line(line, p.n.event)
}

// event brings one of our own events back.
func (p *replayer) event(e host.Event) {
	switch ev := e.(type) {
	case trace.TurnStarted:
		p.n.turn, p.s.turn = ev.Turn, ev.Turn
		p.s.recall.begin(ev.Turn)
		p.s.emit(turnStarted(ev))
	case trace.TurnEnded:
		p.s.emit(turnEnded(ev))
	default:
		p.s.observe(e)
	}
}
