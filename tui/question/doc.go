// Package question is an ask on the screen: a pure reducer that holds what the operator is doing with it, and
// what draws it.
//
// [Sheet] is the state and [Sheet.Reduce] the only way it changes; the form, line mode and the tests drive the
// same one. [Guard] keeps keys away that were meant for something else. Nothing here talks to a session: what
// a step asks for comes back as an [Effect].
package question
