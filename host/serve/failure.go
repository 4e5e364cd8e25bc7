package serve

import (
	"errors"

	"example.com/kitsoki/askbridge"
	"example.com/kitsoki/host/agent"
	"example.com/kitsoki/host/rpc"
	"example.com/kitsoki/host/session"
	"example.com/kitsoki/host/trace"
)

// busy is the outcome of a call that was not begun, because its session is at work or too many calls wait.
const busy = "busy"

// codeOf is the JSON-RPC code of each outcome; see docs/agent-serve.md.
func codeOf(outcome string) int {
	switch outcome {
	case session.TimedOutTurn:
		return 2
	case session.StoppedTurn:
		return 3
	case session.OutOfBudget:
		return 4
	case session.OutOfTurns:
		return 5
	case session.UnfitValue:
		return 6
	case busy:
		return 7
	case session.NotFound:
		return 8
	}
	return 1
}

// failureData is the data of an error.
type failureData struct {
	Outcome string          `json:"outcome"`
	Result  *session.Report `json:"result,omitempty"` // how far it came; missing when nothing was begun
}

// failure is the error of a call, with its report when there is one.
func failure(outcome string, err error, report *session.Report) error {
	return rpc.Errorf(codeOf(outcome), "%s", askbridge.SafeText(err.Error())).With(failureData{Outcome: outcome, Result: report})
}

// openFailure is the error of a call whose session could not be opened.
func openFailure(err error) error {
	f := &rpc.Faults{}
	switch {
	case errors.Is(err, trace.ErrAmbiguous):
		f.Add("session", "%v", err)
		return f.Err()
	case errors.Is(err, trace.ErrNoSession):
		return failure(session.NotFound, err, nil)
	case errors.Is(err, session.ErrInUse):
		return failure(busy, err, nil)
	}
	return failure(session.OutcomeOf(err), err, nil)
}

// runFailure is the error of a call whose turn did not end well.
func runFailure(err error, report session.Report) error {
	if errors.Is(err, agent.ErrRequest) { // what no check of ours foresaw
		return rpc.Errorf(rpc.InvalidParams, "%s", askbridge.SafeText(err.Error()))
	}
	return failure(report.Outcome, err, &report)
}
