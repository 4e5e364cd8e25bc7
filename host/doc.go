// Package host holds the seam between agents and the person who answers them.
//
// An agent's question enters through [OperatorPrompter], the one interface that every way of asking and every
// way of answering shares. The [Switchboard] is the prompter that runs in production: it owns the open asks,
// their deadlines and drafts, settles each exactly once, and shows it on whichever surfaces are attached.
// [Bridge] brings in the asks of an agent's grandchild process over the socket of package askbridge.
//
// host imports askbridge and the standard library. The switchboard owns a goroutine for each pair of attached
// surface and open ask, and a timer for each open ask; Close waits for all of them.
package host
