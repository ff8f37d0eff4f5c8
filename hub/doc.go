// Package hub is the core of Parley. A [Hub] decides which events each conversation accepts, appends them to
// a journal, and serves readers. There is no other way into the log.
//
//	h, err := hub.Open(memory.New(), nil)
//	if err != nil {
//		return err
//	}
//	defer h.Close()
//	c := h.Client(h.LocalPrincipal("alice"))
//	snapshot, err := c.CreateConversation(ctx, &parley.CreateConversationParams{Title: "Plans"})
//
// # Guarantees
//
//   - A write is decided on the head by package fold, and is answered when it is durable. A refusal that
//     depends on an undurable event waits for the commit of that event.
//   - Writes of one goroutine to one conversation are decided in the order of the calls.
//   - Readers see committed events only. A subscription is a cursor and a wake-up. It misses and repeats no
//     event. A slow reader needs memory for its cursor only.
//   - Memory is bounded. Unused conversations are evicted by number and by bytes. Recent events are kept up to
//     a size, and deltas for subscribers only. Files that are uploaded or read have separate bounds.
//   - A file is durable before the event that adds it. It is read through a conversation to which it was added,
//     as a whole, and its hash is checked.
//   - The state of a conversation is a fold of its log. It is loaded on demand, evicted when idle, and the same
//     after a restart.
//
// # Packages
//
// Package hub has the methods of the protocol, and connects these packages:
//
//	| package | owns |
//	|---|---|
//	| hub/internal/conv | conversations: load, decide, append, notify observers, wake readers |
//	| hub/internal/auth | principals, tokens, verifiers, workspaces |
//	| hub/internal/turns | offers, claims, executors and their connections |
//	| hub/internal/agentcontext | contexts of agents: triggers, selectors, vectors |
//	| hub/internal/registry | runners, blueprints, and the rows of listAgents |
//	| hub/internal/sessions | agent sessions: start, callbacks, results |
//	| hub/internal/triggers | matches of events with subscriptions, and the sessions that they start |
//	| hub/internal/cluster | the other hubs of a journal: follow, catch up, presence |
//	| hub/internal/approvals | requests, answers and lists of approvals |
//	| hub/internal/changes | the order of the last changes, and watchConversations |
//	| hub/internal/files | the files of conversations: uploads, reads, their memory |
//	| hub/internal/page | limits, cursors and timeouts of methods |
//	| hub/fold, hub/desk, hub/policy | the pure rules: state, turns, policies |
//	| hub/fold/check | the checks of parameters that need no state |
//	| hub/fold/eventdata | the encoding of events, their readers and labels, ids and hashes |
//	| hub/fold/idempotency | the idempotency keys of a conversation |
//
// # Goroutines
//
// Each package above documents its goroutines. Package hub starts these:
//
//	| goroutine | started by | does |
//	|---|---|---|
//	| the answer of a creation | CreateConversation, ForkConversation | reads the snapshot and calls done |
//	| a fork | ForkConversation | reads the original and submits the fork; two run at a time |
//	| Run of cluster.Follower | Open, with Options.Peers | follows the journal |
//	| Run of files, registry, sessions, triggers and turns | Open | see the package |
//	| Recover of turns | Open | loads every open conversation once |
//
// [Hub.Close] waits for all of them, except for an embedder that does not return.
//
// # Locks
//
// Each package above documents its locks. Package hub has these:
//
//	| mutex | guards | order |
//	|---|---|---|
//	| the mutex of a conversation (package conv) | its state | before the mutexes of observers, tokens and connections |
//	| clientConnection.mu | the receiver of notifications | last; not held during calls of the hub |
//	| Hub.backup | the running backup | only TryLock: a second backup is refused |
//	| Hub.forks (a channel) | the running forks | before the mutex of a conversation |
//
// The mutex of a conversation is held while the observers are notified. [Hub.newObservers] documents their
// order.
//
// # Several hubs
//
// Hubs that share a journal ([Options.Peers]) each serve all conversations. Every decision is a conditional
// append, so the guarantees above hold for all hubs together:
//
//   - No hub refuses an event that any hub acknowledged. A refusal that depends on the head is returned after
//     the journal accepted a batch without events on that head. A lookup that finds nothing is repeated after
//     the hub caught up. This costs one round trip of the journal, which concurrent refusals share. If the
//     journal cannot be reached, the refusal is ErrUnavailable. Writes, and retries that meet their key, cost
//     the same as with one hub.
//   - Reads return what reached this hub, in commit order. This may be less than another hub acknowledged. A
//     reader with a cursor is answered at that cursor or later. The same holds for lists, guidance, summaries,
//     floors and listed tokens. The cursors of watchConversations belong to one hub.
//   - A revoked token, with the calls that wait with it, ends at each hub when the hub follows the revocation.
//     Until then the hub accepts it.
//   - Any hub may decide what is due at a time. For each conversation one hub tries first, and each next hub
//     200 ms later. The follow-up work of an event (start and end of a session in its parent, callbacks,
//     sessions of triggers) is done by the hub that committed the event. Another hub tries 0.5 to 1 second
//     later. Both decide on the head, so the work is done once.
//   - The end of a grace period shortens a claim and never ends it. A hub to which the holder connects extends
//     it again. A claim that a hub's own process held continues until its time limit when that hub ends.
//   - Presence (which executors are connected to other hubs) is sent every two seconds and on change, and
//     expires after six seconds. It determines who is online and which runner is chosen first. A runner is away
//     when it is connected to no hub. If hubs lose contact for longer than OfflineMs, the hub of a runner
//     repeats its registration.
//   - The hub to which an executor is connected offers turns to it. If it is connected to two hubs, both make
//     offers. An offer is valid at the hub that made it.
//   - Each hub counts bounds in memory separately: sessions of one tree, tokens of one participant, and the
//     rate of writes of a runner.
//   - Deltas reach the subscribers of other hubs while the claim under which they were sent is current. A delta
//     that arrives before its turn is lost.
package hub
