// Package serve is the four verbs for programs: JSON-RPC methods that dispatch an agent and answer with what it came
// to. Nobody can be asked in such a call.
//
// A [Server] is the methods and what is in hand of them; host/rpc carries them. Every call runs in a session, with a
// manager of its own, so that there is a trace of each and nothing of it stays in memory.
//
// serve imports askbridge, host, host/agent, host/rpc, host/session and host/trace. A call runs on the goroutine that
// its connection gives it; one with events has another one, which ends before the call does.
package serve
