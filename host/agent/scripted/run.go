package scripted

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// Exit codes, as claude's.
const (
	exitOK         = 0
	exitFailed     = 1
	exitTerminated = 143 // 128 + SIGTERM, with no result event
)

// graceStop is how long a stopped run has to cancel its calls before its servers are closed, and again how long
// it has afterwards. Only a stream that nobody reads takes that long.
const graceStop = 300 * time.Millisecond

// Run is the scripted agent's whole program; it returns the exit code. args are the words behind the subcommand,
// env looks a variable up; MCP servers get the process's whole environment. The prompt is read from stdin to its
// end before anything else happens, unless args carry one.
//
// SIGINT and SIGTERM are Run's while it runs: the first ends with a failed result event and 0, the second, or the
// end of ctx, with 143 and none. An error is one sentence on stderr and exit code 1.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env func(string) string) int {
	code, err := run(ctx, args, stdin, stdout, env)
	if err != nil {
		_, _ = fmt.Fprintf(stderr, "error: %v\n", err) // there is nobody else to tell
	}
	return code
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout io.Writer, env func(string) string) (int, error) {
	p, cfgs, err := prepare(args, stdin, stdout, env)
	if err != nil {
		return exitFailed, err
	}
	if ctx.Err() != nil {
		return exitTerminated, nil
	}
	ctx, unwatch := watch(ctx, p.sc.Deaf)
	defer unwatch()
	p.tools = newToolbox(p.opt, connect(ctx, cfgs, limitsFrom(env)))
	if ctx.Err() != nil {
		p.tools.close()
		return p.verdict(context.Cause(ctx))
	}

	var played error // written by the player, read when it is done
	done := make(chan struct{})
	go func() {
		defer close(done)
		played = p.run(ctx)
	}()
	select {
	case <-done:
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), errTerminated) {
			p.out.silence()
		}
		await(done) // it cancels its calls
	}
	p.tools.close()
	if !await(done) { // it is stuck in a write that nobody reads, and ends with the process
		return p.verdict(context.Cause(ctx))
	}
	return p.verdict(played)
}

// await waits a bounded time and reports whether done was closed.
func await(done <-chan struct{}) bool {
	timer := time.NewTimer(graceStop)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}

// prepare reads everything that a run depends on.
func prepare(args []string, stdin io.Reader, stdout io.Writer, env func(string) string) (*player, []serverConfig, error) {
	opt, err := parseArgs(args)
	if err != nil {
		return nil, nil, err
	}
	sc, err := load(env(EnvScenario))
	if err != nil {
		return nil, nil, err
	}
	cfgs, err := readServers(opt.mcpConfigs)
	if err != nil {
		return nil, nil, err
	}
	pace := env(EnvPace)
	if pace == "" {
		pace = sc.Pace
	}
	p := &player{
		sc: sc, opt: opt, rest: rest,
		out: &stream{session: opt.session(), output: opt.output, w: stdout},
	}
	p.memory.outcomes = map[string]outcome{}
	begun := time.Now()
	p.since = func() time.Duration { return time.Since(begun) }
	if p.pace, err = parsePause(pace); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", EnvPace, err)
	}
	if p.prompt, err = readPrompt(opt, stdin); err != nil {
		return nil, nil, err
	}
	return p, cfgs, nil
}

func readPrompt(opt options, stdin io.Reader) (string, error) {
	prompt := strings.Join(opt.words, " ")
	if prompt == "" {
		raw, err := io.ReadAll(stdin)
		if err != nil {
			return "", fmt.Errorf("the prompt cannot be read: %w", err)
		}
		prompt = string(raw)
	}
	if strings.TrimSpace(prompt) == "" {
		return "", errors.New("input must be provided either through stdin or as a prompt argument when using --print")
	}
	return prompt, nil
}

// verdict turns what a run ended with into the exit code.
func (p *player) verdict(err error) (int, error) {
	var exit *exitError
	switch {
	case err == nil:
		return p.exit, nil
	case errors.As(err, &exit):
		return exit.code, nil
	case errors.Is(err, errTerminated):
		return exitTerminated, nil
	case errors.Is(err, errInterrupted):
		return exitOK, nil
	}
	return exitFailed, err
}

// watch returns a context that ends, with its cause, by SIGINT, by SIGTERM or with ctx, and a function that ends
// the watching. A deaf run hears ctx alone.
func watch(parent context.Context, deaf bool) (ctx context.Context, unwatch func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	ctx, stop := context.WithCancelCause(context.WithoutCancel(parent))
	finish, finished := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(finished)
		ended := parent.Done()
		for {
			select {
			case sig := <-signals:
				switch {
				case deaf:
				case sig == os.Interrupt:
					stop(errInterrupted)
				default:
					stop(errTerminated)
				}
			case <-ended:
				ended = nil
				stop(endedBy(signals))
			case <-finish:
				return
			}
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(finish)
		<-finished
		stop(nil)
	}
}

// endedBy tells why the caller's context ended. A caller that ends it by signals can be heard before the signal.
func endedBy(signals <-chan os.Signal) error {
	timer := time.NewTimer(50 * time.Millisecond)
	defer timer.Stop()
	select {
	case sig := <-signals:
		if sig == os.Interrupt {
			return errInterrupted
		}
	case <-timer.C:
	}
	return errTerminated
}

// rest pauses, and ends early with the context's cause.
func rest(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
