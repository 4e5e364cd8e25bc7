package askbridge_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/kitsoki/askbridge"
)

func TestStrangersAreTurnedAway(t *testing.T) {
	for name, c := range map[string]struct {
		frame  string // TOKEN stands for the right one
		reason string
	}{
		"no token":            {`{"v":1,"type":"ask","id":"x","arguments":` + simple + `}`, "does not know the token"},
		"a wrong token":       {`{"v":1,"type":"ask","id":"x","token":"0000","arguments":` + simple + `}`, "does not know the token"},
		"half the token":      {`{"v":1,"type":"ask","id":"x","token":"HALF","arguments":` + simple + `}`, "does not know the token"},
		"a wrong token lists": {`{"v":1,"type":"tools_listed","token":"0000"}`, "does not know the token"},
		"no version":          {`{"type":"ask","id":"x","token":"TOKEN","arguments":` + simple + `}`, "version 0"},
		"another version":     {`{"v":2,"type":"ask","id":"x","token":"TOKEN","arguments":` + simple + `}`, "version 2"},
		"a negative version":  {`{"v":-1,"type":"ask","id":"x","token":"TOKEN","arguments":` + simple + `}`, "version -1"},
		"no type":             {`{"v":1,"id":"x","token":"TOKEN"}`, `unknown type ""`},
		"an unknown type":     {`{"v":1,"type":"shutdown\u001b[2J","id":"x","token":"TOKEN"}`, `unknown type "shutdown‹ESC›[2J"`},
		"a cancel at first":   {`{"v":1,"type":"cancel","id":"x","token":"TOKEN"}`, `unknown type "cancel"`},
		"garbage":             {"\x00\x01\xff", "not understood"},
		"HTTP":                {"GET / HTTP/1.1\r", "not understood"},
		"a list":              {`[]`, "not understood"},
		"an empty line":       {``, "not understood"},
		"a type of no string": {`{"v":1,"type":7,"token":"TOKEN"}`, "not understood"},
		"two messages":        {`{"v":1}{"v":1}`, "not understood"},
	} {
		t.Run(name, func(t *testing.T) {
			h := &handler{ask: func(context.Context, *askbridge.Call) askbridge.Final {
				t.Error("the ask reached the host")
				return askbridge.Final{}
			}}
			b := listen(t, h, askbridge.ListenOptions{})
			p := b.peer(t)
			token := b.dir.Token()
			p.send(strings.NewReplacer("TOKEN", token, "HALF", token[:32]).Replace(c.frame) + "\n")
			if got := p.line(); got != "" {
				t.Errorf("it was answered: %s", got)
			}
			r := receive(t, "the refusal", h.refused)
			if !strings.Contains(r.Reason, c.reason) || r.PID != os.Getpid() || r.UID != os.Getuid() {
				t.Errorf("refused as %+v, want the reason %q and who it was", r, c.reason)
			}
			if strings.Contains(r.Reason, token) || strings.Contains(r.Reason, token[:32]) {
				t.Error("the token is in the reason")
			}
		})
	}
}

func TestAPeerThatSaysTooLittle(t *testing.T) {
	for name, frame := range map[string]string{"nothing": "", "half a frame": `{"v":1,"type":"ask"`} {
		t.Run(name, func(t *testing.T) {
			h := &handler{}
			b := listen(t, h, askbridge.ListenOptions{}.WithBounds(askbridge.Bounds{First: 100 * time.Millisecond}))
			p := b.peer(t)
			p.send(frame)
			if got := p.line(); got != "" {
				t.Errorf("it was answered: %s", got)
			}
			if r := receive(t, "the refusal", h.refused); !strings.Contains(r.Reason, "not understood") {
				t.Errorf("refused as %+v", r)
			}
		})
	}
}

func TestAPeerThatComesAndGoesIsNoMatter(t *testing.T) {
	h := &handler{listed: func(context.Context, askbridge.ToolsListed) error { return nil }}
	b := listen(t, h, askbridge.ListenOptions{})
	_ = b.peer(t).conn.Close()
	if err := b.client(t).ToolsListed(t.Context(), askbridge.ToolsListed{}); err != nil {
		t.Error(err)
	}
	if err := b.listener.Close(); err != nil {
		t.Error(err)
	}
	if len(h.refused) != 0 {
		t.Errorf("refused: %+v", <-h.refused)
	}
}

func TestAFrameOverTheLimitIsCutOff(t *testing.T) {
	h := &handler{}
	b := listen(t, h, askbridge.ListenOptions{})
	p := b.peer(t)
	big := b.askFrame("id", `"`+strings.Repeat("x", 2<<20)+`"`)
	if _, err := p.conn.Write([]byte(big)); err == nil {
		t.Error("two megabytes were read to their end")
	}
	if r := receive(t, "the refusal", h.refused); !strings.Contains(r.Reason, "longer than a frame") {
		t.Errorf("refused as %+v", r)
	}
}

// A frame arrives as the kernel cuts it.
func TestAFrameInPieces(t *testing.T) {
	f, _ := answer("a")
	b := listen(t, &handler{ask: func(context.Context, *askbridge.Call) askbridge.Final { return f }}, askbridge.ListenOptions{})
	p := b.peer(t)
	frame := b.askFrame("id", `{"questions":[{"question":"Q?","options":["a","`+strings.Repeat("界", 300)+`"]}]}`)
	for len(frame) > 0 {
		n := min(7, len(frame))
		p.send(frame[:n])
		frame = frame[n:]
	}
	if got := p.line(); got != `{"answers":{"Q?":"a"}}` {
		t.Errorf("got %s", got)
	}
}

func TestToolsListed(t *testing.T) {
	infos := make(chan askbridge.ToolsListed, 1)
	b := listen(t, &handler{listed: func(_ context.Context, info askbridge.ToolsListed) error {
		infos <- info
		return nil
	}}, askbridge.ListenOptions{})
	if err := b.client(t).ToolsListed(t.Context(), askbridge.ToolsListed{Client: "claude 2", Tools: []string{"ask"}}); err != nil {
		t.Fatal(err)
	}
	select { // it is known before the client hears so
	case info := <-infos:
		if info.Client != "claude 2" || len(info.Tools) != 1 || info.Tools[0] != "ask" {
			t.Errorf("the host got %+v", info)
		}
	default:
		t.Error("the client was told before the host knew")
	}
}

func TestToolsListedThatTheHostRefuses(t *testing.T) {
	b := listen(t, &handler{listed: func(context.Context, askbridge.ToolsListed) error { return errors.New("no") }}, askbridge.ListenOptions{})
	if err := b.client(t).ToolsListed(t.Context(), askbridge.ToolsListed{}); err == nil {
		t.Error("it was acknowledged")
	}
}
