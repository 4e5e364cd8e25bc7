package trace

import (
	"errors"
	"io"
	"os"
	"time"
)

// EndedTurn is a turn that came to its end, and when.
type EndedTurn struct {
	Time time.Time
	TurnEnded
}

// Turns returns the ended turns of a session, oldest first, and the directory that it works in. What could be read is
// returned beside an error too.
func Turns(s Stored) (turns []EndedTurn, dir string, err error) {
	f, err := os.Open(s.Path)
	if err != nil {
		return nil, "", err
	}
	defer func() { _ = f.Close() }()
	rd := NewReader(f)
	for {
		rec, err := rd.Next()
		var bad *LineError
		switch {
		case errors.Is(err, io.EOF):
			return turns, dir, nil
		case errors.As(err, &bad):
			continue
		case err != nil:
			return turns, dir, err
		}
		switch e, _ := rec.Decode(); e := e.(type) {
		case SessionOpened:
			dir = e.Dir
		case TurnEnded:
			turns = append(turns, EndedTurn{rec.Time, e})
		}
	}
}
