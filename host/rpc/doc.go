// Package rpc is newline-delimited JSON-RPC 2.0 on a unix socket, for programs of one user: [Listen] serves methods,
// [Dial] calls them, and either end of a [Conn] can send notifications.
//
// What it is for beyond the specification: lines of a bounded length, a bounded number of requests in hand, requests
// that are begun in the order in which they came, a cause for each that is cancelled, and notifications that never
// wait for a peer that does not read. The general libraries queue and write without bounds.
//
// rpc imports askbridge/frame. A connection owns a goroutine that reads, one that writes, and one for each request
// in hand; a server also one that accepts. Close waits for all of them.
package rpc
