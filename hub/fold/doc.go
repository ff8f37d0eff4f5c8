// Package fold is the hub's reasoning: what a log means and what may be added to it. Everything in it is a pure function:
// no clock, no I/O, no lock. The same events always give the same [State], and the same state and [Command] always
// the same [Decision], so a log can be replayed at any time, in any process.
//
//	events  -> State.Apply  -> State
//	command -> Decide(State, Keys, Command) -> events to append, or a refusal
//	State, participant -> Guidance
//
// # Guarantees
//
//   - Decide never gives an event that Apply does not take.
//   - A refusal comes with no event of the caller's; it may come with the hub's own close of an overdue conversation.
//   - One turn is open at most, one participant owns it, and nothing follows the event that closes the conversation.
//   - Guidance for a participant is may_speak exactly when a message without turn and afterSeq, which names the claim if one stands, would be
//     taken from it.
//   - One claim stands at most, and its participant has the floor. An append that names a claim is taken only while that claim stands; while one
//     stands, an append that names none is not.
//   - In no state of an active conversation is everybody kept from speaking without a time limit that runs: see Asks, and Wakes for approvals.
//   - A match is over once: with the end of a turn of its agent that was given it, with the end of its session, by name where that was not started, or with the
//     conversation. Nothing else takes it away. Under the policy triggers who was woken first has the floor before people and peers have.
//   - An approval ends once: answered, timed out, or with its turn. While one is pending no claim expires, and where none stands, none is taken.
package fold

// Version of what State means. Derived state that was kept under another version is made anew from the log.
const Version = 14
