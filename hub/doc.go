// Package hub owns conversations: it decides what may be added to each, appends it to a journal, and tells
// whoever reads or waits. It is the one way into the log.
//
// # Guarantees
//
//   - A write is decided on the head, with pkg fold, and is answered when it is durable. A refusal that
//     rests on an event not yet durable waits for that one's commit too.
//   - Writes that one goroutine makes to one conversation are decided in the order of the calls.
//   - Readers see committed events only. A subscription is a cursor and a wake-up: nobody misses or repeats an
//     event, and a slow reader costs its cursor, never a queue.
//   - Memory is bounded: conversations that nobody uses are dropped by number and by bytes, deltas are kept for subscribers only, and
//     recent events up to a size. Files on their way in and out have bounds of their own.
//   - A file is durable before the event that adds it, and is read only through a conversation to which it was added, whole and checked.
//   - What the hub knows of a conversation is a fold of its log: it is loaded on demand, dropped when idle, and
//     the same after a restart.
//
// # Packages
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
//	| hub/internal/files | the files of conversations: uploads, reads, their memory |
//	| hub/internal/page | limits, cursors and timeouts of methods |
//	| hub/fold, hub/desk, hub/policy | the pure rules: state, turns, policies |
//	| hub/fold/check | the checks of parameters that need no state |
//	| hub/fold/eventdata | the encoding of events, their readers and labels, ids and hashes |
//	| hub/fold/idempotency | the idempotency keys of a conversation |
//
// Package hub has the methods of the protocol, and connects the packages.
//
// # Goroutines
//
// Those of the packages above are listed there. The only other one is that of createConversation, which
// reads the answer.
//
// [Hub.Close] waits for all of them, except for an embedder that does not return.
//
// # Several hubs
//
// Hubs that share a journal ([Options.Peers]) each serve everything. Every decision is an append on a condition, so what is promised above is promised of all of them together:
//
//   - What any hub has acknowledged no hub refuses. A refusal, or another answer that writes nothing and rests on the head, is given once a batch without events has come back
//     as good; a lookup that finds nothing is made again once the hub has caught up. It costs a round trip of the journal, which all who are refused at the same
//     time share. Where the journal cannot be reached, the refusal is ErrUnavailable. A repetition that meets its key, and what is written, cost no more than with one hub.
//   - Reads show what has come to this hub, in commit order, which may be less than another hub has acknowledged: a reader who shows a cursor is answered at that cursor or beyond,
//     one who does not may read what was true a moment ago. So it is with lists, guidance, summaries, floors, the tokens that are listed, and watchConversations, whose cursors are of one hub.
//   - A token that is revoked, and what waits with it, ends at every hub as soon as that has followed the revocation; until then it is taken there.
//   - What is due at a time is decided by whichever hub comes first: for each conversation another one tries first, the next ones 200 ms later each, if it is still to do. What follows from
//     an event (a session's start and end in its parent's log, callbacks, sessions that a trigger starts) the hub sees to that has committed it, another one half a second to a second later. Both
//     are decided on the head, so that it is done once.
//   - The end of a grace never ends a claim: it makes it short, and a hub that has the holder makes it long again. A claim that a hub's own process held stands for its time when that hub ends.
//   - Presence (who is connected elsewhere) is told every two seconds and on change, and forgotten after six. It says who is online and which runner is chosen first. A runner is away when it
//     is connected to no hub; if hubs lose sight of each other for longer than OfflineMs, the one to which it is connected says anew what it has said.
//   - An executor is offered turns by the hub to which it is connected. One that is connected to two hubs is asked by both; an offer is of use only at the hub that has made it.
//   - Bounds that are counted in memory are counted by each hub: sessions of one tree, tokens of one participant, what a runner may write.
//   - Deltas go to the subscribers of other hubs while the claim under which they were sent stands there; one that comes before the hub knows of its turn is lost.
//
// # Locks
//
// The mutex of a conversation is held while the observers are notified ([Hub.newObservers] has their
// order), so it is taken before the mutexes of observers, tokens and connections, and never after one.
// Hub.backup is only ever tried: a second backup is refused.
package hub
