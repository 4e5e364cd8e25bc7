// Package askbridge carries one ask across a process boundary.
//
// The agent's grandchild dials the socket of its dispatch and sends a tool call's arguments as they came; the
// host decodes them tolerantly ([Decode]), keeps the grandchild informed of the deadline, and answers with one
// final line. The package also has the limits of all that, the dispatch's private directory ([Dir]) and the one
// function that makes an agent's text fit to be shown ([Safe]).
//
// askbridge imports the standard library, golang.org/x/sys and golang.org/x/time. A [Listener] owns a goroutine
// for accepting and two for each connection; Close waits for all of them. The client side owns none.
package askbridge
