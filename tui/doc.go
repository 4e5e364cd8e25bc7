// Package tui is the operator's terminal: a bubbletea program that shows one session, takes prompts, and turns
// into a form when an agent asks.
//
// It knows the session through session.Client and asks through host.Ask, and nothing else of the program. Its
// update loop does no I/O: whatever can wait is a command. Run owns the program, the goroutine that turns
// signals into messages, and returns when both have ended and the terminal is as it was.
package tui
