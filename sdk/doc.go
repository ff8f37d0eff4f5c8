// Package sdk is what partners import: [Dial] gives a [parley.Client] over a WebSocket that reconnects by itself, and
// [Run] is a whole agent over one.
//
// # Guarantees
//
//   - Reads wait for the hub to come back: a read that fails because the connection broke or the hub drains is repeated until its ctx ends.
//   - Writes happen once: every write carries a clientRequestId (a random one is made when the caller gave none), so it is repeated
//     safely when the connection broke, the hub drains or the outcome is unknown, until its ctx ends. A write whose ctx ends after
//     it was sent fails with an error for which both ctx's error and [parley.ErrOutcomeUnknown] hold: give the same
//     clientRequestId to find out.
//   - createToken is never repeated after it was sent: a broken connection is [parley.ErrOutcomeUnknown]. sendDelta is not
//     repeated either; a delta that was lost is [parley.ErrUnavailable].
//   - Over a limit of its token a call waits as long as the hub asks, and is then made again; sendDelta is not.
//   - closeConversation has no key. When it was repeated and finds the conversation closed by the hub with the outcome it asked
//     for, that is a duplicate and no error.
//   - No gap, no repeat: [Client.Events] and [Client.Subscribe] go on from their cursor over any number of reconnects.
//   - A slow loop over events holds up no other call and costs bounded memory: when its buffer is full the subscription is
//     given up, and taken up again from the cursor when the buffer is empty.
//   - A registration as an executor is made again on every new connection, with the claims that go on, before any turn is offered there. What
//     ended a claim in between is told by that, and by renewClaim. All calls but waits go on the same socket as the registration.
//   - claimTurn with a claimId and renewClaim are repeated as other writes are. releaseClaim that was repeated and finds the claim gone has done its work;
//     cancelTurn is not repeated: a broken connection is [parley.ErrOutcomeUnknown].
//   - What can name no claim, such as a read or startSession, waits on a new connection until the registration stands there, at most 5 s: only then does the
//     hub know again for whom the client speaks.
//   - startSession carries a key as other writes do: over any number of reconnects, and restarts of the hub, it starts one session and waits for its end.
//     stopSession is repeated. registerBlueprints is not: it belongs to one registration, and its caller makes it again after the next.
//   - A token that is refused on a reconnect is final: from then on every call fails with that error.
//   - With several hubs ([URLs]) a connection that is lost is made anew at whichever of them takes the client: the one that was good last first, then the others in
//     an order of the client's own, each once, and after a round in vain the pauses of MinBackoff to MaxBackoff. Everything above goes on there: cursors, keys, claims.
//     A hub that does not answer, sends its clients away or does not keep a connection is left at once. One that says that it does not reach its log is left as soon as another
//     takes the client, and kept until then. A refusal is final only where no hub takes the client and each that has answered refuses.
//   - [Client.Close] ends all calls and waits for all goroutines.
//
// # Goroutines
//
// A client owns, for each of its sockets (one, and further ones for each 32 waits or 900 subscriptions under way): a supervisor,
// which dials and dials again, and one that watches the connection while the supervisor looks for a better hub; the reader of jsonrpc2; a keeper, which pings a hub that has been silent; and a janitor, which
// sends unsubscribe. A call that was given up by its ctx leaves a goroutine until its answer comes or its socket ends.
package sdk
