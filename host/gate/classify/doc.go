// Package classify says what a tool call of an agent would do: read, write, or leave the machine. The write gate asks
// the operator by it, and lets what only reads pass unasked.
//
// It is deterministic: it looks at the call, and at what is on the disk where the call points. It runs nothing. What
// passes unasked is an exact list; whatever is not on it, is not understood or takes too long to understand is
// asked. It decides whether to ask and is no fence: a program that was allowed to run is held by the wall.
//
// It imports the standard library and a shell parser, and starts no goroutine.
package classify
