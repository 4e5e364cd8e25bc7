// Package tui is the operator's terminal: a bubbletea program that shows one session, takes prompts, and turns
// into a form when an agent asks.
//
// It knows the session through session.Client and asks through host.Ask, and nothing else of the program. Its
// update loop does no I/O: whatever can wait is a command. Run owns the program's goroutine and returns when it has
// ended and the terminal is as it was; only from a terminal that takes no output any more it walks away.
package tui
