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
// # A write
//
//	SendMessage -> fold.Decide(head, keys, command) -> journal.Submit -> (commit) -> committed
//	                     | refusal, duplicate                                           | frames -> ring
//	                     v                                                              | wake readers
//	               reply when what it rests on is durable                               v reply
//
// If the journal says that the head moved, or that it is full, what was decided on the lost events is decided again, in order,
// on the state read anew.
//
// # Goroutines
//
//   - The sweeper ([Hub.sweep]) drops idle conversations, and some others when there is no room. Who wants one finds it in memory until it is dropped.
//   - The clock ([clock.run]) closes conversations when a limit of time is over.
//   - Another clock lets runners go that have been away for too long.
//   - Errands ([errands.run]), at most 8 at once, write what follows from the states of sessions: that a parent knows of its children, and is told of their ends.
//     A clock of their own tries again what has failed.
//   - Errands of another kind ([triggers.run]), at most 8 at once too, start the sessions of events that have woken agents, with a clock of their own. They begin when the hub knows what runs.
//   - The follower ([Hub.follow]), of a hub that shares its journal, shows what others have written to it, and takes in what it says of tokens and runners. Another goroutine
//     tells the other hubs who is connected ([presence.run]); what they tell comes on a goroutine of Options.Peers. Tokens and runners that this hub has written are taken in on
//     goroutines of their own, behind what others have written.
//   - A reload ([conversation.reload]) runs after a failed append, one at a time for a conversation.
//   - The schemas of registerBlueprints are compiled on a goroutine of its own.
//   - The answer to createConversation ([conversation.created]) is read on a goroutine of its own, once it is committed.
//   - A verifier of the options is asked on a goroutine of its own ([Hub.ask]), so that a slow one holds its caller up for 5 s at most.
//   - The embedder of the options is asked on goroutines of their own ([contexts.ask]), at most 8 at once, which hold nobody up for longer than 30 s.
//   - Journal callbacks ([conversation.committed]) run on the journal's goroutine; they take the conversation's mutex and
//     never block.
//
// [Hub.Close] waits for all of them, but for an embedder that does not come back.
//
// # Several hubs
//
// Hubs that share a journal ([Options.Peers]) each serve everything. Every decision is an append on a condition, so what is promised above is promised of all of them together:
//
//   - What any hub has acknowledged no hub refuses. A refusal, or another answer that writes nothing and rests on the head, is given once a batch without events has come back
//     as good; a lookup that finds nothing is made again once the hub has caught up ([Hub.catchUp]). It costs a round trip of the journal, which all who are refused at the same
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
// Hub.mu guards the map of conversations; conversation.mu guards one conversation. Hub.mu is never taken while a
// conversation.mu is held. Neither is held over a wait or over I/O, but for the load of a conversation, which only those
// who need this conversation wait for. What is counted is atomic, so that who looks at the numbers ([Hub.Counted]) waits for no
// conversation. A conversation.mu is held while the observers are notified of its state ([Hub.newObservers] has their order): it comes before
// their mutexes and those of tokens and connections, never after one. Whom an event wakes is found out before it is decided, without a lock of its conversation; triggers.mu is only ever taken after that of the runners, presence.mu after all others. tokens.folding and runners.folding are held while the log is read, and none of the others is held then. Hub.backup is only ever tried: a second backup is refused and does not wait.
package hub
