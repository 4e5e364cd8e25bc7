package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// lookUp finds the program of an agent, by an absolute path: it is started in another directory.
func (c Command) lookUp() (string, error) {
	path, err := exec.LookPath(c.Path)
	switch {
	case err == nil:
		if path, err = filepath.Abs(path); err != nil {
			return "", failf(err, "the agent %q was not found, because this directory is gone: %v", c.Name, err)
		}
		return path, nil
	case errors.Is(err, fs.ErrPermission):
		return "", failf(err, "the agent %q cannot be run, because %s is not an executable file; try chmod +x on it", c.Name, c.Path)
	}
	return "", failf(errors.Join(ErrNotFound, err), "the agent %q was not found: there is no program %s", c.Name, c.Path)
}

// startFailure words why there was no process. The working directory is the usual reason after the program was
// found.
func startFailure(c Command, dir string, err error) error {
	if info, statErr := os.Stat(dir); dir != "" && (statErr != nil || !info.IsDir()) {
		return failf(err, "the agent %q could not be started: its working directory %s is gone", c.Name, dir)
	}
	if errors.Is(err, unix.ENOEXEC) {
		return failf(err, "the agent %q could not be started: %s is not a program for this machine", c.Name, c.Path)
	}
	return failf(err, "the agent %q could not be started: %v", c.Name, err)
}

// judgeServer reads the status that the agent gives our own MCP server at its start. Everybody else's server may
// fail. An agent that does not name ours is judged by its first model event.
func (r *run) judgeServer(status string) error {
	if !r.asks {
		return nil
	}
	switch status {
	case "failed":
		return failf(errBroken, "the agent could not start kitsoki's MCP server, so it cannot ask; the turn was stopped")
	case "pending":
		return failf(errBroken, "the agent did not wait for kitsoki's MCP server, so it cannot ask; the turn was stopped, try again")
	}
	return nil
}

// verdict judges a run that has ended, by its result event and never by the exit code alone: an API error can
// come with exit code 1 and the subtype "success", an interrupted run with exit code 0. Of several results the
// last one counts; agents with sub-agents in the background have one a stage.
func (r *run) verdict(ctx context.Context, state *os.ProcessState, lastWords string) (Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	res := Result{}
	if r.ended != nil {
		res = r.ended.Result
	}
	res.Model, res.Files, res.CostUSD, res.Denials = r.init.Model, r.seen.files, r.spent, len(r.denied)
	if res.Conversation == "" {
		res.Conversation = r.init.Conversation
	}
	switch cause := context.Cause(ctx); {
	case r.broken != nil:
		return res, r.broken
	case cause != nil:
		// Even with a good result: the agent may have ended its run because its ask was withdrawn by the stop, or
		// may have been stopped in what its sub-agents did after the result.
		return res, stopped(ctx)
	case r.ended == nil:
		if lastWords == "" {
			lastWords = r.odd
		}
		return res, failf(nil, "%s", withWords("the agent ended without a result ("+howEnded(state)+")", lastWords))
	case r.ended.IsError && strings.HasPrefix(r.ended.Terminal, "aborted"):
		// Measured: after SIGINT claude's own words are a diagnosis of its stream.
		return res, failf(nil, "something outside interrupted the agent before it was done (%s)", r.ended.Terminal)
	case r.ended.Subtype == "error_max_budget_usd":
		return res, r.req.outOfBudget(failureText(r.ended))
	case r.ended.Subtype == "error_max_turns":
		return res, r.req.outOfTurns(failureText(r.ended))
	case r.ended.Subtype == "error_max_structured_output_retries":
		return res, unfit(failureText(r.ended))
	case r.ended.IsError && r.forgotten():
		return res, failf(ErrForgotten, "%s", withWords("the agent failed", failureText(r.ended)))
	case r.ended.IsError && r.req.gated() && aboutLogin(failureText(r.ended)):
		return res, failf(nil, "%s", withWords("the agent failed", failureText(r.ended))+
			"; a login that has run out is not renewed behind the wall: run claude once, then send the prompt again")
	case r.ended.IsError:
		return res, failf(nil, "%s", withWords("the agent failed", failureText(r.ended)))
	}
	return res, nil
}

// aboutLogin reports whether a failure can be a login that has run out. Measured: behind the wall 2.1.332 does not try
// to renew one, because it could not keep it.
func aboutLogin(text string) bool {
	text = strings.ToLower(text)
	for _, words := range []string{"/login", "oauth token", "authentication_error", "401"} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}

// forgotten reports whether the agent does not have the conversation that it was to continue. Measured: 2.1.332 says so
// before it calls its model. Its setting cleanupPeriodDays, 30 where it is not set, is how long it keeps them.
func (r *run) forgotten() bool {
	return r.req.Conversation != "" && r.requests == 0 && strings.Contains(failureText(r.ended), "No conversation found")
}

// stopped is the end of a run that its context ended: by a limit of ours, which has a sentence of its own, or by
// somebody.
func stopped(ctx context.Context) *Failure {
	cause := context.Cause(ctx)
	var limit *Failure
	if errors.As(cause, &limit) {
		return limit
	}
	return failf(cause, "the turn was stopped")
}

// howEnded says how a process ended. A shell's or a runtime's 128 + n stands for the signal n.
func howEnded(state *os.ProcessState) string {
	sig := syscall.Signal(0)
	status, _ := state.Sys().(syscall.WaitStatus)
	code := state.ExitCode()
	switch {
	case status.Signaled():
		sig = status.Signal()
	case code > 128 && unix.SignalName(syscall.Signal(code-128)) != "":
		sig = syscall.Signal(code - 128)
	}
	switch sig {
	case 0:
		return fmt.Sprintf("exit code %d", code)
	case unix.SIGKILL, unix.SIGTERM, unix.SIGINT, unix.SIGHUP, unix.SIGQUIT:
		return "something outside ended it with " + unix.SignalName(sig)
	}
	return "it crashed with " + unix.SignalName(sig)
}

// maxWords is how much of an agent's own words a verdict quotes, in runes: some print whole files.
const maxWords = 300

// withWords makes one line of a verdict and the agent's own words.
func withWords(verdict, words string) string {
	words = strings.Join(strings.Fields(words), " ")
	if words == "" {
		return verdict
	}
	if runes := []rune(words); len(runes) > maxWords {
		words = string(runes[:maxWords]) + "…"
	}
	return verdict + ": " + words
}

// failureText is the first thing in a failed result that says something.
func failureText(e *Ended) string {
	for _, words := range []string{strings.Join(e.Errors, "; "), e.Text, e.Terminal, e.Subtype} {
		if strings.TrimSpace(words) != "" {
			return words
		}
	}
	return ""
}

func joinInts(ns []int) string {
	var words []string
	for _, n := range ns {
		words = append(words, strconv.Itoa(n))
	}
	return strings.Join(words, ", ")
}
