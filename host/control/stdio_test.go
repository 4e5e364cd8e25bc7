package control

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"example.com/kitsoki/host"
)

// Over the bridge everything is as it is at home, also after a login's own words.
func TestBridge(t *testing.T) {
	r := newRig(t, asks)
	release := r.session.Present()
	defer release()
	hereIn, there := io.Pipe()
	thereIn, here := io.Pipe()
	over := make(chan error, 1)
	go func() {
		_, _ = io.WriteString(there, "Welcome to the box\n+1 not yet\n")
		err := Bridge(t.Context(), filepath.Dir(r.server.Path()), thereIn, there)
		over <- errors.Join(err, there.Close())
	}()
	box, err := OpenBox(hereIn, here)
	if err != nil {
		t.Fatal(err)
	}
	all := box.Clients()
	if len(all) != 1 || all[0].PID() != r.client.PID() {
		t.Fatalf("there are %d", len(all))
	}
	if err := all[0].Session(r.session.ID()).StartTurn(t.Context(), strings.Repeat("go ", 100_000)); err != nil {
		t.Fatal(err)
	}
	var asks Asks
	waitFor(t, "the ask", func() bool {
		asks, err = all[0].Asks(t.Context(), "q")
		return err != nil || len(asks.Questions) == 1
	})
	if err != nil {
		t.Fatal(err)
	}
	a := all[0].Ask(asks.Questions[0], "ssh")
	var fields *host.FieldErrors
	if err := a.Answer(t.Context(), []host.Answer{{Picked: []int{9}}}); !errors.As(err, &fields) {
		t.Error(err)
	}
	if err := a.Answer(t.Context(), []host.Answer{{Picked: []int{0}}}); err != nil {
		t.Error(err)
	}
	var end *host.Resolution
	if err := a.Answer(t.Context(), []host.Answer{{Picked: []int{0}}}); !errors.As(err, &end) || end.Surface != "ssh" {
		t.Error(err)
	}
	if asks, err := all[0].Asks(t.Context(), "q"); err != nil || len(asks.Questions) > 0 || len(asks.Ended) != 1 {
		t.Errorf("%+v, %v", asks, err)
	}
	if err := box.Close(); err != nil {
		t.Error(err)
	}
	if err := receive(t, over); err != nil {
		t.Error(err)
	}
	<-box.Gone()
}

func TestNoBridge(t *testing.T) {
	for _, words := range []string{"", "bash: kitsoki: command not found\n", strings.Repeat("hello\n", 1000), strings.Repeat("x", 1<<20), bridgeHello + "x\n", bridgeHello + "1\n"} {
		_, w := io.Pipe()
		if _, err := OpenBox(strings.NewReader(words), w); !errors.Is(err, ErrNoBridge) {
			t.Errorf("%.20q: %v", words, err)
		}
	}
}
