// Package trace keeps a session's append-only record: typed events, one JSON object a line, after a versioned
// header.
//
// trace imports host, whose Recorder it implements and whose question events it stores beside its own. A File
// owns no goroutine.
package trace
