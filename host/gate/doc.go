// Package gate is the write-mode gate: with the access ask an agent explores freely, and every step that changes
// something comes to the operator as a proposal, made here from the tool's real input.
//
// A [Gate] belongs to a session and knows what was granted in it; a [Turn] belongs to one turn and decides about its
// agent's calls. What a call would do says package classify, what holds an agent to the answer is package wall. What
// was allowed the host does itself, outside of the wall, exactly as it was shown.
//
// The gate fails closed: whatever goes wrong, times out or is not understood is a denial, and so is a grant that
// cannot be recorded. It imports host, askbridge and its own subpackages; how processes are run is given to it. It starts
// one goroutine a run of an agent, for the wall, and waits for it.
package gate
