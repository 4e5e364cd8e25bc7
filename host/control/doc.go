// Package control is the local API of a running kitsoki: what other processes of the same user see of its sessions and
// asks, and do with them. Commands, attached terminals and the web page are clients of it.
//
// [Serve] offers it on a socket of its own for each process, in a directory where [Find] finds all of them. A [Client]
// is one connection; [Client.Session] is a session.Client and [Client.Watch] brings asks with handles of host.Ask, so
// that a surface works on them as it does at home.
//
// It is JSON-RPC over host/rpc. Answers are settled by the switchboard of the process that the ask belongs to, so that
// of several surfaces one wins and the others are told. The package imports host, host/session and host/rpc; a server
// owns a goroutine an open ask, a client one an ask that it shows, and Close waits for them.
package control
