package askbridge_test

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/kitsoki/askbridge"
)

// fakeSocket is a socket whose host reads one line of each connection, answers with the given text, and then
// keeps the connection open.
func fakeSocket(t *testing.T, text string) *askbridge.Client {
	t.Helper()
	dir := scratch(t)
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte("t"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer func() { _ = conn.Close() }()
			if _, err := bufio.NewReader(conn).ReadString('\n'); err == nil {
				_, _ = conn.Write([]byte(text))
			}
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	c, err := askbridge.Dial(filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	c.SetBounds(askbridge.Bounds{First: 300 * time.Millisecond, Grace: 300 * time.Millisecond})
	return c
}

// fakeHost is an ask of such a host.
func fakeHost(t *testing.T, text string) *askbridge.Exchange {
	t.Helper()
	ex, err := fakeSocket(t, text).Ask(t.Context(), askbridge.AskParams{ID: "id", Arguments: json.RawMessage(simple)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ex.Close() })
	return ex
}

func TestTheClientOfAHostThatTalksNonsense(t *testing.T) {
	for name, text := range map[string]string{
		"garbage":      "\x00\xff what\n",
		"half a line":  `{"answers":{"Q?":"a"}}`,
		"a wrong type": `{"answers":"Q?"}` + "\n",
		"two in one":   `{"answers":{"Q?":"a"}}{"answers":{"Q?":"b"}}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			got, err := fakeHost(t, text).Wait(bounded(t))
			if err == nil || got.Answers != nil {
				t.Errorf("got %+v, %v", got, err)
			}
		})
	}
}

func TestToolsListedWantsTheWordOfTheHost(t *testing.T) {
	for text, acknowledged := range map[string]bool{
		`{"ok":true}` + "\n": true, `{}` + "\n": false, `{"error":"no"}` + "\n": false, "": false, "what\n": false,
	} {
		err := fakeSocket(t, text).ToolsListed(t.Context(), askbridge.ToolsListed{Tools: []string{"ask"}})
		if (err == nil) != acknowledged {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestDialWithoutAHost(t *testing.T) {
	if _, err := askbridge.Dial(filepath.Join(scratch(t), "ask.sock")); err == nil {
		t.Error("a socket without a token was dialled")
	}
	dir := newDir(t, runtimeDir(t))
	c, err := askbridge.Dial(dir.Socket())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Ask(t.Context(), askbridge.AskParams{ID: "id", Arguments: json.RawMessage(simple)}); err == nil {
		t.Error("nobody listens, and the ask was sent")
	}
	if err := c.ToolsListed(t.Context(), askbridge.ToolsListed{}); err == nil {
		t.Error("nobody listens, and the list was acknowledged")
	}
}
