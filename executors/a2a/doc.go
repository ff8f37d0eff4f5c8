// Package a2a connects a seat of a conversation to a remote agent that speaks the Agent2Agent
// protocol. [Agent] is a [parley.Agent] whose turns are handled by the remote agent, with A2A 1.0
// or 0.3 over JSON-RPC or REST, as its card offers.
//
// # A turn
//
// All messages since the agent's last turn are sent as one message. Progress of the remote task
// becomes traces, and its end becomes the final message of the turn. A task that needs input ends
// the turn with the tag input_required, and the next turn continues the task. A task that failed,
// was rejected or was canceled by the peer is an answer too. HandleTurn returns an error for
// failures that may be temporary: the peer is unreachable, refuses, or violates the protocol.
//
// # Guarantees
//
//   - All state is in the log. The open context and task are in the payload of the agent's messages
//     (member a2a), and those of a running turn in a trace. After a restart, the same or another
//     replica continues the task instead of sending the message again.
//   - The id of a message is derived from the conversation, the seat and the turn. A repeated
//     message has the same id, so it is one message for a peer that checks ids. If a stream ends
//     before its task settles, the task is subscribed to again or polled; the message is not sent
//     again.
//   - No sent message is empty.
//   - An open task that no turn will continue is canceled: if its turn was canceled or failed
//     permanently, if it takes longer than [Options.MaxWait], and, with [Agent.Follow], if the
//     conversation is closed while the task waits for input. A claim that continues elsewhere
//     leaves the task open.
//   - The token is sent only to the origin of the card and to [Options.Origins]. It is in no error
//     and no log.
//   - The cost of a peer is limited: the bytes of a response, the events of a stream, the artifacts
//     and parts of an answer, and the time of a turn. Exceeding a limit and violating the protocol
//     are errors of this package.
//
// # Goroutines
//
// A turn uses the goroutine of the caller. Follow has one goroutine for each task that waits for
// input, at most [MaxFollowed], and waits for them.
package a2a
