package classify

import (
	"encoding/json"
	"fmt"
)

// Call is a tool call as the agent made it.
type Call struct {
	Tool  string
	Input json.RawMessage
	Dir   string   // absolute; the directory that a command starts in
	Roots []string // absolute; further directories that count as inside
	Home  string   // absolute, or empty where there is none
}

// Verdict is what a call would do, and what of that a person should hear.
type Verdict struct {
	Effect Effect
	// Ask is set for what only reads, and must be asked nevertheless: a secret, or a file outside.
	Ask bool
	// Guarded is set for a write that no grant for edits may cover: it is outside, or to a file from which programs are
	// started later.
	Guarded bool
	// Hardened is set where the verdict holds only if the command runs with the variables of Environment.
	Hardened bool
	// Reason is one short phrase that says what made it so. It may hold text of the agent's: make it safe before it is
	// shown.
	Reason string
	// Paths are the files that would be written, absolute and with links resolved, as far as they are known.
	Paths []string
	// Command is the command of a Bash call, exactly.
	Command string
}

// Free reports whether the call may pass without asking.
func (v Verdict) Free() bool { return v.Effect == Read && !v.Ask }

// Classify says what a call would do. It reads the disk: links, and the configuration of a git repository. A fault of
// its own is External.
func Classify(c Call) (v Verdict) {
	defer func() {
		if fault := recover(); fault != nil {
			v = Verdict{Effect: External, Reason: fmt.Sprintf("could not be judged: %v", fault)}
		}
	}()
	places, err := newPlaces(c)
	if err != nil {
		return Verdict{Effect: External, Reason: err.Error()}
	}
	return c.byTool(places)
}
