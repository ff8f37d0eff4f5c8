// Package parley holds the nouns of the Parley conversation hub: what every part, inside the hub or in a
// partner's process, agrees on. It imports the standard library only. Start here, then read protocol.md,
// which says the same on the wire.
//
// # Nouns
//
// A [Conversation] is an append-only log of [Event] values, spoken by [Participant] values and ordered by Seq.
// An event is a [Message], a [Trace] or a [System] event. Messages come in turns: a turn is opened by the
// first message or trace of the participant who has the floor and closed by a message whose [Finality] is
// turn or conversation. A [Policy] names who has the floor next, [Limits] say when the hub closes a
// conversation by itself, and [Guidance] tells each participant whether it may speak, and why. A [Client] is
// how anybody talks to a hub; an [Agent] is what speaks when its turn has come. Any number of executors may run
// the same agent: a claim ([ClaimTurnResult]) says which of them has the turn.
//
// # Guarantees
//
//   - Durable on acknowledgement: an event that was acknowledged survives a crash of the hub and of its host.
//   - Honest errors: an append is acknowledged, refused (then it never appears), or its outcome is
//     unknown ([ErrOutcomeUnknown]); retry the last with the same ClientRequestID.
//   - Once per key: an append repeated with the same ClientRequestID gives the first result, for ever, also
//     for the message that closed the conversation.
//   - Order: Seq is 1, 2, 3, ... in each conversation, without gap or reuse, and At never goes back.
//   - One speaker: only the participant who has the floor appends messages and traces; nothing is added to a closed turn,
//     nothing at all to a closed conversation.
//   - One final message in each turn, however many executors run the agent and whichever of them, or the hub, is killed: while a claim
//     stands only its holder appends, and what a failed attempt has said is withdrawn. An agent itself may run more than once for a turn.
//   - No gap, no repeat: a reader goes on from a cursor, over any number of reconnects and restarts.
//   - A slow reader costs bounded memory and delays nobody.
//   - Guidance is a function of the log: the same whether pushed, asked for, or computed after a restart. (Its Reason also tells when nobody
//     runs the agent whose turn it is.)
//
// # Limits of the promises
//
// Deltas ([Delta]) are for whoever is listening now; they are not stored and may be skipped. A notification
// tells what was true at its Seq; only an append decides who was first.
package parley
