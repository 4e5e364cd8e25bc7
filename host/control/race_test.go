package control

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"example.com/kitsoki/host"
	"example.com/kitsoki/host/agent"
)

// rivalEnv makes a process of this test's a rival: it answers each ask whose id it reads, and says what came of it.
const rivalEnv = "KITSOKI_TEST_RIVAL_OF"

func TestMain(m *testing.M) {
	if path := os.Getenv(rivalEnv); path != "" {
		if err := rival(path, os.Getenv(rivalEnv+"_PICK"), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func rival(path, row string, in io.Reader, out io.Writer) error {
	n, err := strconv.Atoi(row)
	if err != nil {
		return err
	}
	c, err := Dial(context.Background(), path)
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		err := c.call(context.Background(), methodAnswer, askParams{Question: lines.Text(), Surface: "rival " + row, Picks: []pick{{Picked: []int{n}}}}, nil)
		var end *host.Resolution
		switch {
		case err == nil:
			_, err = fmt.Fprintln(out, "won")
		case errors.As(err, &end):
			_, err = fmt.Fprintf(out, "lost to %s, %s\n", end.Surface, end.Outcome)
		}
		if err != nil {
			return err
		}
	}
	return c.Close()
}

// A thousand asks, each of which two other processes answer at once: one wins each time, and the other is told of it.
func TestTwoProcessesRaceForAThousandAnswers(t *testing.T) {
	const all = 1000
	opened, got := make(chan string), make(chan string)
	r := newRig(t, func(ctx context.Context, req agent.Request, _ agent.Observer) (agent.Result, error) {
		p, _ := host.OperatorPrompterFrom(ctx)
		for range all {
			ask := host.AskRequest{Opened: func(a host.OpenedAsk) { go func() { opened <- a.Info().ID }() }}
			answers, err := p.Ask(host.WithAskRequest(ctx, ask), req.SessionID, []host.OperatorQuestion{database})
			if err != nil {
				return agent.Result{}, err
			}
			text, _ := answers[database.Question].(string)
			got <- text
		}
		return agent.Result{}, nil
	})
	release := r.session.Present()
	defer release()
	var rivals [2]struct {
		in  io.WriteCloser
		out *bufio.Scanner
		cmd *exec.Cmd
	}
	for i := range rivals {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), rivalEnv+"="+r.server.Path(), rivalEnv+"_PICK="+strconv.Itoa(i))
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		rivals[i].in, rivals[i].out, rivals[i].cmd = in, bufio.NewScanner(out), cmd
	}
	if err := r.session.StartTurn(t.Context(), "go"); err != nil {
		t.Fatal(err)
	}
	wins := [2]int{}
	for n := range all {
		id := receive(t, opened)
		first := n % 2 // who is told first
		for _, i := range []int{first, 1 - first} {
			if _, err := fmt.Fprintln(rivals[i].in, id); err != nil {
				t.Fatal(err)
			}
		}
		answer := receive(t, got)
		winner := 0
		if answer == database.Options[1].Label {
			winner = 1
		}
		wins[winner]++
		for i := range rivals {
			if !rivals[i].out.Scan() {
				t.Fatalf("rival %d said nothing of ask %d: %v", i, n, rivals[i].out.Err())
			}
			want := "won"
			if i != winner {
				want = fmt.Sprintf("lost to rival %d, answered", winner)
			}
			if said := rivals[i].out.Text(); said != want {
				t.Fatalf("ask %d got %q, and rival %d said %q, want %q", n, answer, i, said, want)
			}
		}
	}
	t.Logf("won: %d and %d", wins[0], wins[1])
	if wins[0] == 0 || wins[1] == 0 {
		t.Error("it was no race")
	}
	for _, rv := range rivals {
		if err := errors.Join(rv.in.Close(), rv.cmd.Wait()); err != nil && !strings.Contains(err.Error(), "file already closed") {
			t.Error(err)
		}
	}
}
