// Package signals reaches an operator who looks elsewhere: the bell, notifications and the clipboard of the
// terminal, and a program of the operator's choice. Alarm decides what to do when; the other parts do it.
//
// It imports askbridge, host and tui/cells, and bubbletea nowhere: what it makes are texts for the terminal, which
// go through a Writer beside bubbletea's renderer. It starts no goroutine but those of os/exec, which OnAsk.Run
// waits for.
package signals
