// Package rpc serves a hub over the network: JSON-RPC 2.0 over WebSocket and HTTP POST, and the same
// methods as plain HTTP with server-sent events, as protocol.md defines them.
//
//	server := rpc.NewServer(h, &rpc.Options{Logger: log})
//	defer server.Shutdown(ctx)
//	http.Serve(listener, server)
//
// # Guarantees
//
//   - A caller acts as the identity of its token. No part of a request can name another one.
//   - Every request gets exactly one answer, also if it is malformed or its handler panics. The socket
//     stays open.
//   - Writes of one socket reach the hub in the order in which they were sent. A call that waits delays
//     no other call.
//   - A peer costs bounded memory: [parley.MaxInFlight] calls, [parley.MaxSubscriptions] subscriptions,
//     and an out-buffer that stops its own reads and subscriptions when it is full; a stream costs a
//     page. A peer that reads nothing for Options.WriteTimeout is disconnected. A request whose body
//     does not arrive within Options.BodyTimeout is refused.
//   - One function verifies the tokens of all requests and protocols. It delays the answers to bad
//     tokens, never those to good ones.
//   - Everything that a token has opened ends within a second of its end: sockets, streams, waits and
//     tickets.
//   - No token, ticket or secret is in a log, an error or the audit.
//   - Host and Origin are checked before anything else, on every route.
//
// # Packages
//
// Imports point down this table.
//
//	rpc                  server, sockets, out-buffers, subscriptions, and the methods that need a socket
//	internal/httpapi     routes, streams, files, and handlers of other protocols
//	internal/calls       the method table, and a call from its params to its answer
//	internal/admission   hosts, tokens, tickets, limits and the audit
//	internal/metrics     the table of metrics
//	oidc                 tokens of OpenID Connect issuers
//
// # A call over a socket
//
//	frame -> socket.startCall -> write: hub.SendMessage(..., done) --> done: answer -> out-buffer
//	                         \-> read: goroutine -> hub.Tail(ctx) ---> answer ------> |
//	  change -> pumps: subscription.pump -> Subscription.Poll -------> event -------> |
//	                                                                                  v
//	                                       flushers: one write for all frames of a socket
//
// A correct frame is scanned once by wire.ScanRequest. wire.ReadRequest reads any other, and reports
// its fault. Package httpapi describes a call over HTTP.
//
// # Goroutines
//
// [Server.Shutdown] waits for all of them. A callback of the hub that comes after the end of its
// socket does nothing.
//
//	socket.serve      one for each socket; reads it, and waits for the goroutines below that it starts
//	  a read          one for each call that may wait
//	  a subscription  one while it waits for the peer or the disk; none at rest
//	  a writer        one while the peer takes its time
//	  ping, close     one while it lasts
//	pumps             one for each processor; move all subscriptions that need no wait
//	flushers          one for each processor; write all out-buffers that need no wait
//	sweep             pings silent sockets
//	watchRevocations  closes the sockets of revoked tokens
//	watchJournal      notifies sockets when a shared journal is lost; none for a single hub
package rpc
