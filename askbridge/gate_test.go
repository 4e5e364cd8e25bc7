package askbridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/kitsoki/askbridge"
)

// keeper is a host with a gate.
type keeper struct {
	handler

	permit func(context.Context, *askbridge.PermissionCall) askbridge.Decision
	run    func(context.Context, askbridge.RunCall) (int, error)
}

func (k *keeper) Permission(ctx context.Context, c *askbridge.PermissionCall) askbridge.Decision {
	return k.permit(ctx, c)
}

func (k *keeper) Run(ctx context.Context, c askbridge.RunCall) (int, error) { return k.run(ctx, c) }

func (k *keeper) listen(t *testing.T) *bridge {
	t.Helper()
	dir := newDir(t, runtimeDir(t))
	l, err := askbridge.Listen(dir, k, askbridge.ListenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return &bridge{dir: dir, listener: l}
}

func params(id string, input string) askbridge.PermissionParams {
	return askbridge.PermissionParams{ID: id, ToolUseID: "toolu_" + id, Tool: "Bash", Input: json.RawMessage(input)}
}

// A tool's input goes over byte for byte, and the decision comes back as it is.
func TestAPermissionAndItsDecision(t *testing.T) {
	const input = `{"command":"echo \"<a>\" ‹x› \u202e &","n":1.50}`
	k := &keeper{permit: func(_ context.Context, c *askbridge.PermissionCall) askbridge.Decision {
		if c.ID != "p" || c.ToolUseID != "toolu_p" || c.Tool != "Bash" || string(c.Input) != input {
			t.Errorf("the host was asked for %+v, %s", c, c.Input)
		}
		if err := c.Deadline(time.Now().Add(time.Hour)); err != nil {
			t.Error(err)
		}
		return askbridge.Decision{Allow: true, Input: json.RawMessage(`{"command":"x"}`), Message: "m"}
	}}
	d := k.listen(t).client(t).Permit(bounded(t), params("p", input))
	if !d.Allow || string(d.Input) != `{"command":"x"}` || d.Message != "m" {
		t.Errorf("%+v", d)
	}
}

// Whatever goes wrong, the answer is a denial in words.
func TestPermitFailsClosed(t *testing.T) {
	allow := func(context.Context, *askbridge.PermissionCall) askbridge.Decision {
		return askbridge.Decision{Allow: true}
	}
	denied := func(name string, d askbridge.Decision, want string) {
		t.Helper()
		if d.Allow || !strings.Contains(d.Message, want) || !strings.Contains(d.Message, "so it is denied") {
			t.Errorf("%s: %+v, want %q", name, d, want)
		}
	}
	open := (&keeper{permit: allow}).listen(t)
	denied("no id", open.client(t).Permit(bounded(t), askbridge.PermissionParams{Tool: "Bash", Input: json.RawMessage(`{}`)}), "no usable id")
	denied("no tool", open.client(t).Permit(bounded(t), askbridge.PermissionParams{ID: "p", Input: json.RawMessage(`{}`)}), "names no tool")
	denied("no input", open.client(t).Permit(bounded(t), askbridge.PermissionParams{ID: "p", Tool: "Bash"}), "no JSON")
	denied("too long", open.client(t).Permit(bounded(t), params("p", `"`+strings.Repeat("a", 1<<20)+`"`)), "too long")
	denied("no gate", listen(t, &handler{}, askbridge.ListenOptions{}).client(t).Permit(bounded(t), params("p", `{}`)), "no gate")

	gone := (&keeper{permit: allow}).listen(t)
	client := gone.client(t)
	if err := gone.listener.Close(); err != nil {
		t.Fatal(err)
	}
	denied("host gone", client.Permit(bounded(t), params("p", `{}`)), "socket")

	ctx, cancel := context.WithCancelCause(t.Context())
	waits := make(chan struct{})
	cause := make(chan error, 1)
	waiting := (&keeper{permit: func(ctx context.Context, _ *askbridge.PermissionCall) askbridge.Decision {
		close(waits)
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return askbridge.Decision{Allow: true} // nobody hears it
	}}).listen(t)
	go func() { <-waits; cancel(askbridge.ErrCancelled) }()
	denied("cancelled", waiting.client(t).Permit(ctx, params("p", `{}`)), askbridge.ErrCancelled.Error())
	if err := receive(t, "the host's end", cause); !errors.Is(err, askbridge.ErrCancelled) && !errors.Is(err, askbridge.ErrAskerGone) {
		t.Errorf("the host was told %v", err)
	}

	for name, text := range map[string]string{
		"garbage": "\x00what\n", "half a line": `{"decision":{"allow":true}}`, "an answer": `{"answers":{"Q?":"turn"}}` + "\n", "an error": `{"error":"no"}` + "\n",
		"silence": "", "another type": `{"decision":true}` + "\n", "allowed in other words": `{"decision":{"allow":"true"}}` + "\n",
		"accepted, and silence": `{"accepted":{"deadline":"2001-01-01T00:00:00Z"}}` + "\n",
	} {
		denied(name, fakeSocket(t, text).Permit(bounded(t), params("p", `{}`)), "")
	}
	if d := fakeSocket(t, `{"decision":{}}`+"\n").Permit(bounded(t), params("p", `{}`)); d.Allow {
		t.Errorf("nothing said: %+v", d)
	}
}

// What is no message of ours, or nobody's who knows the token, does not reach the gate.
func TestHostilePermissions(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	k := &keeper{
		permit: func(_ context.Context, c *askbridge.PermissionCall) askbridge.Decision {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, string(c.Input))
			return askbridge.Decision{Allow: true}
		},
		run: func(_ context.Context, c askbridge.RunCall) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, "run "+c.Token)
			return 0, nil
		},
	}
	b := k.listen(t)
	for _, frame := range []string{
		`{"v":1,"type":"permission","id":"a","token":"guess","tool":"Bash","arguments":{}}`,
		`{"v":1,"type":"permission","id":"a","tool":"Bash","arguments":{}}`,
		`{"v":2,"type":"permission","id":"a","token":"TOKEN","tool":"Bash","arguments":{}}`,
		`{"v":1,"type":"Permission","id":"a","token":"TOKEN","tool":"Bash","arguments":{}}`,
		`{"v":1,"type":"permission","id":"a","token":"TOKEN","tool":"Bash","arguments":{}`,
		`{"v":1,"type":"permission","id":"a","token":"TOKEN","tool":["Bash"],"arguments":{}}`,
		`{"v":1,"type":"run","token":"guess","run":"x"}`,
		`{"v":1,"type":"permission","token":"TOKEN","tool":"Bash","arguments":{"big":"` + strings.Repeat("a", 2<<20) + `"}}`,
		"\x00\x01\x02",
	} {
		p := b.peer(t)
		_, _ = p.conn.Write([]byte(strings.ReplaceAll(frame, "TOKEN", b.dir.Token()) + "\n")) // the host may hang up first
		if line := p.line(); strings.Contains(line, `"allow":true`) {
			t.Errorf("%.80s was answered %s", frame, line)
		}
	}
	if len(seen) != 0 {
		t.Errorf("the gate was asked for %q", seen)
	}
}

// Permissions wait side by side, and no more than are of use.
func TestManyPermissionsWait(t *testing.T) {
	const most = 64
	waiting, release := make(chan struct{}, most), make(chan struct{})
	b := (&keeper{permit: func(context.Context, *askbridge.PermissionCall) askbridge.Decision {
		waiting <- struct{}{}
		<-release
		return askbridge.Decision{Allow: true}
	}}).listen(t)
	decisions := make(chan askbridge.Decision, most)
	for i := range most {
		client := b.client(t)
		go func() { decisions <- client.Permit(bounded(t), params(fmt.Sprint(i), `{}`)) }()
	}
	for range most {
		receive(t, "a permission", waiting)
	}
	if d := b.client(t).Permit(bounded(t), params("more", `{}`)); d.Allow || !strings.Contains(d.Message, "64 others wait already") {
		t.Errorf("%+v", d)
	}
	close(release)
	for range most {
		if d := receive(t, "a decision", decisions); !d.Allow {
			t.Errorf("%+v", d)
		}
	}
	if d := b.client(t).Permit(bounded(t), params("later", `{}`)); !d.Allow {
		t.Errorf("%+v", d)
	}
}

// What a command prints comes while it runs, byte for byte and in its stream, and then its exit code.
func TestARunIsPassedOn(t *testing.T) {
	big := bytes.Repeat([]byte{0, '\n', 0xff, 'x'}, 2_500_000)
	early := make(chan struct{})
	b := (&keeper{run: func(_ context.Context, c askbridge.RunCall) (int, error) {
		if c.Token != "good" || c.Dir != "/work" {
			return 0, fmt.Errorf("no such command: %s in %s", c.Token, c.Dir)
		}
		_, err := io.WriteString(c.Stderr, "early")
		<-early // heard before the end
		_, big := c.Stdout.Write(big)
		return 42, errors.Join(err, big)
	}}).listen(t)
	var stdout bytes.Buffer
	stderr := &heard{first: early}
	exit, err := b.client(t).Run(bounded(t), "good", "/work", &stdout, stderr)
	if err != nil || exit != 42 || !bytes.Equal(stdout.Bytes(), big) || stderr.String() != "early" {
		t.Errorf("exit code %d, %v, %d bytes and %q", exit, err, stdout.Len(), stderr)
	}
	if _, err := b.client(t).Run(bounded(t), "bad", "/work", io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "no such command: bad") {
		t.Error(err)
	}
	if _, err := listen(t, &handler{}, askbridge.ListenOptions{}).client(t).Run(bounded(t), "good", "/", io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "no gate") {
		t.Error(err)
	}
}

// heard closes a channel at its first word.
type heard struct {
	bytes.Buffer
	once  sync.Once
	first chan struct{}
}

func (h *heard) Write(p []byte) (int, error) {
	h.once.Do(func() { close(h.first) })
	return h.Buffer.Write(p)
}

// A command ends with whoever wanted it: one that is cancelled, one whose output nobody takes, one whose host ends.
func TestARunEndsWithItsEnds(t *testing.T) {
	ended := make(chan error, 1)
	started := make(chan struct{}, 1)
	k := &keeper{run: func(ctx context.Context, c askbridge.RunCall) (int, error) {
		started <- struct{}{}
		for taken := true; taken && ctx.Err() == nil; {
			_, err := c.Stdout.Write([]byte("x"))
			taken = err == nil
		}
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return 0, context.Cause(ctx)
	}}
	for name, end := range map[string]func(*bridge, context.CancelFunc){
		"cancelled": func(_ *bridge, cancel context.CancelFunc) { cancel() },
		"closing":   func(b *bridge, _ context.CancelFunc) { go func() { _ = b.listener.Close() }() },
		"deaf":      nil,
	} {
		t.Run(name, func(t *testing.T) {
			b := k.listen(t)
			ctx, cancel := context.WithCancel(bounded(t))
			defer cancel()
			out := io.Discard
			if end == nil {
				out = failing{}
			}
			result := make(chan error, 1)
			client := b.client(t)
			go func() { _, err := client.Run(ctx, "t", "/", out, io.Discard); result <- err }()
			receive(t, "the start", started)
			if end != nil {
				end(b, cancel)
			}
			if err := receive(t, "the end of the command", ended); !errors.Is(err, askbridge.ErrAskerGone) {
				t.Errorf("the command ended with %v", err)
			}
			if err := receive(t, "the end", result); err == nil {
				t.Error("it ended well")
			}
		})
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }
