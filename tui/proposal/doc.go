// Package proposal is an action of an agent on the screen that waits for the operator's yes: what would run, whole, in a
// frame that nothing else on the screen can draw, and the two keys that allow it.
//
// [Model] holds what the operator does with it and draws it. It may import askbridge, host and the small packages of tui,
// starts no goroutine and does no I/O: what a key asks for comes back from [Model.Key].
package proposal
