// Package rpc is the door of a hub: JSON-RPC 2.0 over WebSocket and over HTTP POST, as protocol.md says.
//
// # Guarantees
//
//   - Who speaks is who was authenticated; nothing in a request can name another.
//   - Every request gets exactly one reply, also one that is malformed and one whose handler panics. The socket stays.
//   - Writes of one socket reach the hub in the order in which they were sent; a call that waits holds nobody up.
//   - A peer costs bounded memory: [parley.MaxInFlight] calls, [parley.MaxSubscriptions] subscriptions, and an out-buffer that
//     stops its own reads and subscriptions when it is full. One that takes nothing for Options.WriteTimeout is closed.
//   - Host and Origin are looked at before anything else, on every route.
//
// # A call
//
//	frame -> wire.ReadRequest -> socket.handle -> write: hub.SendMessage(..., done) --> done: reply -> out-buffer
//	                                           \-> read: goroutine -> hub.Tail(ctx) --> reply ------> |
//	                                               subscription: pump -> Subscription.Next --> event ->|
//	                                                                                                   v
//	                                                               flush: one write for all that is there
//
// # Goroutines
//
//   - socket.serve reads one socket. It starts, and waits for, everything else of that socket: one goroutine for each read
//     under way, one pump for each subscription, a flusher while there is something to write, and for a moment those that
//     ping and close.
//   - Server.sweep pings sockets at rest.
//
// [Server.Shutdown] waits for all of them. A callback of the hub that comes after the end of its socket finds it ended and does
// nothing.
package rpc
