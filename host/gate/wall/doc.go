// Package wall keeps an agent, and all that it starts, from changing what it was not given. The gate decides what
// an agent is asked about; the wall makes sure that a step nobody was asked about does not happen, whatever the
// agent's own permissions say and however a command is written.
//
// It is a static domain that is never widened: what the operator allows is done by the host, outside of it. There
// are two halves. In the child, [Launch] gives up every right and becomes the agent by exec; a part that the level
// promises and that fails is an agent that is not started. In the host, [Wall.Run] answers the system calls that
// the kernel cannot judge alone: who opens a network connection, which unix socket is connected to, whose file
// gets another mode. It never lets a call go on that reads its arguments from memory, unless the agent's own
// process makes it: it copies them and does the thing itself.
//
// It imports the standard library and x/sys. Its one goroutine a wall is the caller's of [Wall.Run]. Linux only, as
// the program is.
package wall
