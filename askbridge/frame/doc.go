// Package frame carries lines between processes of one user over a unix socket: lines of a bounded length, sockets
// and directories that nobody else can enter, and the question who is at the other end.
//
// What the lines mean is up to who uses them: askbridge sends asks, host/rpc sends JSON-RPC. frame imports the
// standard library and golang.org/x/sys, and owns no goroutine.
package frame
