// Package trace keeps a session's append-only record, and reads and checks it.
//
// A [File] holds typed events, one JSON object a line, after a versioned header. A [Transcript] beside it holds
// every line of the agent's stream as it came, with the question events at their place. Both are readable by
// their owner alone, and neither holds a secret that a [Redactor] knows. [Reader] reads a trace while it grows,
// [Check] says in sentences what is wrong with one, [Sessions] lists what a state directory holds.
//
// trace imports host, whose Recorder it implements and whose question events it stores beside its own, and
// askbridge. A File owns no goroutine; a Transcript owns its writer, for which Close waits.
package trace
