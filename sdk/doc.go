// Package sdk connects programs to a hub. [Dial] returns a [parley.Client] over a WebSocket that
// reconnects by itself. [Run] connects a whole agent:
//
//	err := sdk.Run(ctx, "clinic", func(ctx context.Context, t *parley.Turn) error {
//		_, err := t.Post(ctx, parley.Message{Text: "Hello"}, parley.FinalityTurn)
//		return err
//	})
//
// # Guarantees
//
//   - Reads wait for the hub: a read that fails because the connection broke or the hub drains is
//     repeated until its ctx ends.
//
//   - Writes happen once. Every write has a clientRequestId, which is random if the caller sets
//     none. So it can be repeated when the connection broke, the hub drains or the outcome is
//     unknown, until its ctx ends. A write whose ctx ends after it was sent returns an error that
//     wraps both the error of ctx and [parley.ErrOutcomeUnknown]. Repeat it with the same
//     clientRequestId to learn the outcome.
//
//   - createToken is never repeated after it was sent: after a broken connection it returns
//     [parley.ErrOutcomeUnknown]. sendDelta is not repeated either: a lost delta is
//     [parley.ErrUnavailable].
//
//   - A call over a rate limit of its token waits as long as the hub asks, and is then repeated.
//     sendDelta is not.
//
//   - closeConversation has no key. If a repeated call finds that the hub closed the conversation
//     with the same outcome, it returns a duplicate and no error.
//
//   - No gap and no repeat: [Client.Events] and [Client.Subscribe] continue after their cursor over
//     any number of reconnects.
//
//   - A slow loop over events does not delay other calls and uses bounded memory. When its buffer
//     is full, the client ends the subscription. It subscribes again after the cursor when the
//     buffer is empty.
//
//   - An executor is registered again on every new connection, with the claims that it still holds,
//     before the hub offers it a turn. The registration and renewClaim report the claims that ended
//     in between. All calls except waits use the connection of the registration.
//
//   - claimTurn with a claimId, and renewClaim, are repeated like other writes. If a repeated
//     releaseClaim finds that the claim ended, it succeeded. cancelTurn is not repeated: after a
//     broken connection it returns [parley.ErrOutcomeUnknown].
//
//   - On a new connection, a call that cannot name a claim, such as a read or startSession, waits
//     for the registration, at most 5 s. Before that, the hub does not know which claims the client
//     holds.
//
//   - startSession has a key like other writes. Over any number of reconnects and restarts of the
//     hub, it starts one session and waits for its end. stopSession is repeated. registerBlueprints
//     is not: its caller repeats it after each registration.
//
//   - A token that is refused on a reconnect is final: from then on every call returns that error.
//
//   - With several hubs ([URLs]), a client that loses its connection tries the last good hub first,
//     then each of the others once in random order. After a failed round it pauses for MinBackoff
//     to MaxBackoff. Cursors, keys and claims continue on the new hub. The client leaves a hub that
//     does not answer, sends its clients away or does not keep a connection. It leaves a hub that
//     lost its log as soon as another one accepts the client. A refusal is final only if no hub
//     accepts the client and all hubs that answered refuse it.
//
//   - [Client.Close] ends all calls and waits for all goroutines.
//
// # Goroutines
//
// A client has one socket, and one more for every 32 waits or 900 subscriptions in progress. For
// each socket it owns these goroutines: a supervisor, which dials; a watcher, while the supervisor
// looks for a better hub; the reader of jsonrpc2; a keeper, which pings a silent hub; and a
// janitor, which sends unsubscribe. A call that its ctx ended leaves a goroutine until its answer
// arrives or its connection ends.
package sdk
