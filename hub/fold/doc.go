// Package fold decides what the events of a log mean, and which events may be added. Its functions are pure: they use
// no clock, no I/O and no lock. The same events always have the same [State], and the same state and [Command] always
// have the same [Decision], so a log can be replayed at any time, in any process.
//
//	events  -> State.Apply  -> State
//	command -> Decide(State, Keys, Command) -> events to append, or a refusal
//	State, participant -> Guidance
//
// # Guarantees
//
//   - Apply accepts every event that Decide returns.
//   - A refusal has no event of the caller. It may have the close of an overdue conversation by the hub.
//   - At most one turn is open, it has one owner, and no event follows the close of the conversation.
//   - The guidance of a participant is may_speak exactly if a message from it without turn and afterSeq is accepted.
//     The message names the current claim, if there is one.
//   - There is at most one current claim, and its participant has the floor. An append is accepted only if it names
//     the current claim, or no claim while no claim is current.
//   - If no participant of an active conversation may speak, a time limit runs: see Asks, and NextDeadline for
//     approvals.
//   - A match ends once: with a turn of its agent that received it, with its session, by its id if that session
//     cannot be started, or with the conversation. Under the policy triggers, the agent of the first match has the
//     floor before people and peers.
//   - An approval ends once: with an answer, with its time limit, or with its turn. While one is pending, no claim
//     expires, and a turn without a claim cannot be claimed.
package fold

// Version identifies the layout and the meaning of State. A hub discards states of another version, and computes them
// again from the log.
const Version = 14
