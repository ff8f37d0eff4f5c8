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
//	Do -> Authorize, fold.DecideInto(head, keys, command) -> journal.Submit -> (commit) -> committed
//	          | refusal, duplicate                                               | frames, observers
//	          v                                                                  v wake readers, reply
//	      reply once what the answer depends on is durable
//
// If an append fails, everything that was decided on its events is decided again, in order, on the
// state that is read from the journal.
//
// # Goroutines
//
//	| goroutine | started by | does |
//	|---|---|---|
//	| sweep | Start | evicts idle conversations, and others when there is no room |
//	| Clock.Run | Start | closes conversations and ends approvals when a time limit is over |
//	| reload | a failed append | reads one conversation from the journal, one at a time for each |
//	| the journal's callbacks | journal.Submit | lock the conversation and never block |
//
// # Locks
//
//	| mutex | guards | held while |
//	|---|---|---|
//	| Engine.mu | the map of conversations, the state of the engine | never with Conversation.mu |
//	| Conversation.mu | one conversation | observers are notified, a conversation is loaded |
//	| Clock.mu, subscriptions.mu | their fields | taken after Conversation.mu, never before it |
//
// Neither Engine.mu nor Conversation.mu is held over a wait, or over I/O other than the load of the
// conversation. Counters are atomic, so that a reader of the statistics waits for no conversation.
package conv
