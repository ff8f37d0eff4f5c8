// Package rpc is the door of a hub: JSON-RPC 2.0 over WebSocket and over HTTP POST, and the same methods as plain HTTP with server-sent
// events, as protocol.md says.
//
// # Guarantees
//
//   - Who speaks is who was authenticated; nothing in a request can name another.
//   - Every request gets exactly one reply, also one that is malformed and one whose handler panics. The socket stays.
//   - Writes of one socket reach the hub in the order in which they were sent; a call that waits holds nobody up.
//   - A peer costs bounded memory: [parley.MaxInFlight] calls, [parley.MaxSubscriptions] subscriptions, and an out-buffer that
//     stops its own reads and subscriptions when it is full; a stream costs a page. One that takes nothing for Options.WriteTimeout is
//     closed, and one whose body does not come within Options.BodyTimeout is answered without.
//   - A token that is shown at any door is looked at in one place ([Server.login]): bad ones are slowed, good ones never.
//   - What a token has opened ends within a second of its end: sockets, streams, waits, tickets.
//   - No token, ticket or secret is in a log, an error or the audit.
//   - Host and Origin are looked at before anything else, on every route.
//
// # A call
//
//	frame -> socket.handle -> write: hub.SendMessage(..., done) --> done: reply -> out-buffer
//	                       \-> read: goroutine -> hub.Tail(ctx) --> reply ------> |
//	  change -> pumpers: subscription.pump -> Subscription.Poll --> event ------> |
//	                                                                               v
//	                                        flushers: one write for all that is there
//
// A frame with which nothing is wrong is read once (wire.ScanRequest, and the params by wire.Decode); any other is read by wire.ReadRequest, which says what it is.
//
// Plain HTTP is the same call from route.params on, which makes a request's path, query and body the params that the method would have:
//
//	request -> mux -> route.params -> call.answered -> hub -> result or problem
//	               \-> feed: Subscription.Wait, Poll -> id and data -> flush
//
// # Goroutines
//
//   - socket.serve reads one socket. It starts, and waits for, everything else of that socket: one goroutine for each read
//     under way, one for each subscription that waits for the peer or for the disk, one that writes while the peer takes its time, and for a moment those that
//     ping and close. A subscription at rest has none.
//   - The pumpers, one for each processor, move all subscriptions on as long as nothing has to be waited for.
//   - The flushers, one for each processor, write the out-buffers of all sockets as long as nothing has to wait for a peer.
//   - A request over HTTP, a stream too, runs on the goroutine that net/http has for it.
//   - Server.sweep pings sockets at rest.
//   - Server.watchRevocations closes sockets whose token was revoked.
//   - Server.watchJournal tells the sockets of a hub that has lost the journal that it shares with others. A hub by itself has none.
//
// [Server.Shutdown] waits for all of them. A callback of the hub that comes after the end of its socket finds it ended and does
// nothing.
package rpc
