package askbridge

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"
)

// wireVersion is the version of the messages.
const wireVersion = 1

// Bounds of single steps on the wire. None of them bounds how long an ask waits.
const (
	firstFrameWithin = 10 * time.Second // from a connection to its first frame, and from that to its first answer
	writeWithin      = 10 * time.Second // a peer that does not read blocks a writer after some 200 kB
	deliverWithin    = 10 * time.Second // from the final line to the word that it was passed on
	graceAfter       = 10 * time.Second // from the last deadline told to the grandchild's giving up by itself
)

// Types of the grandchild's messages.
const (
	typeAsk         = "ask"
	typeToolsListed = "tools_listed"
	typeCancel      = "cancel"
)

// request is what the grandchild sends: first one with a type, later a cancel or the word of delivery.
type request struct {
	V         int             `json:"v,omitempty"`
	Type      string          `json:"type,omitempty"`
	ID        string          `json:"id,omitempty"`
	Token     string          `json:"token,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	Client    string          `json:"client,omitempty"`
	Tools     []string        `json:"tools,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Delivered bool            `json:"delivered,omitempty"`
}

// reply is what the host sends: accepted, then deadlines, then one final line; or ok to a tools_listed.
type reply struct {
	Accepted *deadline         `json:"accepted,omitempty"`
	Deadline *time.Time        `json:"deadline,omitempty"`
	Answers  map[string]any    `json:"answers,omitempty"`
	Notes    map[string]string `json:"notes,omitempty"`
	Error    string            `json:"error,omitempty"`
	Outcome  string            `json:"outcome,omitempty"`
	OK       bool              `json:"ok,omitempty"`
}

type deadline struct {
	Deadline time.Time `json:"deadline"`
}

var errFrameTooLong = errors.New("the line is longer than a frame can be")

// wire is a connection that carries lines of JSON. Reads belong to one goroutine; writes may come from several.
type wire struct {
	conn  net.Conn
	in    *bufio.Reader
	limit int

	mu sync.Mutex // held while a line is written
}

func newWire(conn net.Conn, limit int) *wire {
	return &wire{conn: conn, in: bufio.NewReader(conn), limit: limit}
}

// read reads one line, however it is cut into packets.
func (w *wire) read(v any) error {
	var line []byte
	for {
		part, err := w.in.ReadSlice('\n')
		if len(line)+len(part) > w.limit {
			return errFrameTooLong
		}
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return err
		}
		if err := json.Unmarshal(line, v); err != nil {
			return fmt.Errorf("the line is not a message: %w", err)
		}
		return nil
	}
}

func (w *wire) write(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.conn.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil {
		return err
	}
	_, err = w.conn.Write(append(line, '\n'))
	return err
}
