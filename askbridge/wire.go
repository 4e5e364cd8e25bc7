package askbridge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"time"

	"example.com/kitsoki/askbridge/frame"
)

// wireVersion is the version of the messages.
const wireVersion = 1

// bounds are how long single steps on the wire can take. None of them bounds how long an ask waits.
type bounds struct {
	first   time.Duration // from a connection to its first frame, and from that to its first answer
	write   time.Duration // a peer that does not read blocks a writer after some 200 kB
	deliver time.Duration // from the final line to the word that it was passed on
	grace   time.Duration // from the last deadline told to the grandchild's giving up by itself
}

func defaultBounds() bounds {
	return bounds{first: 10 * time.Second, write: 10 * time.Second, deliver: 10 * time.Second, grace: 10 * time.Second}
}

// Types of the grandchild's messages.
const (
	typeAsk         = "ask"
	typeToolsListed = "tools_listed"
	typePermission  = "permission"
	typeRun         = "run"
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
	Tool      string          `json:"tool,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // of the ask, or the input of the tool
	Run       string          `json:"run,omitempty"`
	Dir       string          `json:"dir,omitempty"`
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
	Decision *decision         `json:"decision,omitempty"`
	Stdout   []byte            `json:"stdout,omitempty"`
	Stderr   []byte            `json:"stderr,omitempty"`
	Exit     *int              `json:"exit,omitempty"`
}

// decision ends a permission.
type decision struct {
	Allow   bool            `json:"allow"`
	Input   json.RawMessage `json:"input,omitempty"`
	Message string          `json:"message,omitempty"`
}

// answered reports whether there are answers and each of them is one: words, or a list of words. A list can be
// empty, because an operator can say so; null is no list.
func answered(answers map[string]any) bool {
	for _, a := range answers {
		switch v := a.(type) {
		case string:
			if strings.TrimSpace(v) == "" {
				return false
			}
		case []string:
			if v == nil {
				return false
			}
		case []any:
			for _, item := range v {
				if _, ok := item.(string); !ok {
					return false
				}
			}
			if v == nil {
				return false
			}
		default:
			return false
		}
	}
	return len(answers) > 0
}

type deadline struct {
	Deadline time.Time `json:"deadline"`
}

// wire is a connection that carries lines of JSON. Reads belong to one goroutine; writes may come from several.
type wire struct {
	conn   net.Conn
	in     *frame.Reader
	out    *frame.Writer
	bounds bounds
}

func newWire(conn net.Conn, limit int, b bounds) *wire {
	return &wire{conn: conn, in: frame.NewReader(conn, limit), out: frame.NewWriter(conn, b.write), bounds: b}
}

// read reads one line.
func (w *wire) read(v any) error {
	line, err := w.in.ReadLine()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(line, v); err != nil {
		return fmt.Errorf("the line is not a message: %w", err)
	}
	return nil
}

func (w *wire) write(v any) error {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false) // arguments go as they came, and no longer than they came
	if err := enc.Encode(v); err != nil {
		return err
	}
	return w.out.WriteLine(line.Bytes())
}
