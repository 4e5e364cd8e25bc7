package rpc

import "net"

// Over speaks to a server over a connection that somebody else has made, such as a channel of another one, and who has
// seen to it that it is a server of this user's. Close it.
func Over(raw net.Conn, methods Methods) *Conn { return newConn(raw, maxAnswer+maxID, methods) }
