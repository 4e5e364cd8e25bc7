// Package session runs the operator's lines of work: a session takes one input at a time, dispatches the agent
// for it, and tells everybody who watches what happens.
//
// [Client] is all that a surface sees of a session. [Manager] owns the sessions of a process and the switchboard
// that their asks go through.
//
// session imports host, host/agent and host/trace. A session owns the goroutine of its turn; Close waits for it.
package session
