// Package conv owns the conversations of a hub: it loads them from the journal, decides commands on
// them with package fold, appends the events, notifies observers of each commit and wakes readers.
// It knows no tokens, turns or protocol methods. It imports fold and journal only; what depends on
// the rest of the hub comes through [Caller], [Authorizer], [Freshness] and [Observer].
//
// An [Engine] holds the conversations in memory. Pin returns a [Conversation] and keeps it in memory
// until Unpin:
//
//	c, err := engine.Pin(id)
//	if err != nil {
//		return err
//	}
//	defer engine.Unpin(c)
//	decision, answered, err := c.Ask(ctx, &conv.Request{By: caller, Cmd: cmd})
//
// # A write
//
//	Do -> Authorize, fold.DecideInto(head, keys, command) -> round -> journal: seal, commit -> finish
//	             | no events, and no round before it                                          |
//	             v                                                                            v
//	           reply                                          observers, next round, readers, replies
//
// A request is decided on the head when it arrives, and joins the open round of its conversation. The
// first request of a round submits it. When the journal takes the round, it is sealed and in flight:
// its events are one append. What arrives meanwhile is decided on the head too, and is the next open
// round, which is submitted when the journal has answered. So at most one append is in flight for each
// conversation, and at most one round rests on it.
//
// If the append fails, there is one rule: the head is the durable state again, the requests with
// events are refused, and the others, with those of the open round, are decided again. If another hub
// has appended, all of them are decided again, on what it wrote.
//
// A hub that shares its journal also submits a round without events if its refusals depend on the
// head. The journal's answer says whether the head was the head.
//
// # Goroutines
//
//	| goroutine | started by | does |
//	|---|---|---|
//	| sweep | Start | evicts idle conversations, and others when there is no room |
//	| Clock.Run | Start | closes conversations and ends approvals when a time limit is over |
//	| lose | a failed append | reads one conversation from the journal, one at a time for each |
//	| the journal's callbacks | journal.Submit | lock the conversation and never block |
//
// # Locks
//
//	| mutex | guards | held while |
//	|---|---|---|
//	| Engine.mu | the map of conversations | never with Conversation.mu |
//	| Lifecycle.mu | drain, failure, commands under way | taken after any other mutex |
//	| Conversation.mu | one conversation | observers are notified, a conversation is loaded |
//	| Clock.mu, subscriptions.mu | their fields | taken after Conversation.mu, never before it |
//
// Neither Engine.mu nor Conversation.mu is held over a wait, or over I/O other than the load of the
// conversation. Counters are atomic, so that a reader of the statistics waits for no conversation.
package conv
