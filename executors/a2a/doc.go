// Package a2a gives a seat of a conversation to an agent elsewhere that speaks the Agent2Agent protocol: [Agent] is a [parley.Agent] whose turns are served by a remote
// agent, with 1.0 or 0.3, by JSON-RPC or REST, as its card offers.
//
// # A turn
//
// All that others have said since the agent's last turn goes out as one message. What the remote task brings becomes the agent's words: what it says while it works becomes
// traces, its end becomes the final message of the turn. A task that needs input ends the turn with the tag input_required, and the next turn goes on with it. A task that
// has failed, was rejected or was canceled over there is an answer too, and is said as one. An error of HandleTurn is for what may go better another time: a peer that is not
// there, that refuses, or that does not keep to the protocol.
//
// # Guarantees
//
//   - Nothing is kept but in the log. The context and the task that are open are in the payloads of the agent's own messages (member a2a), and that of a turn under way is in
//     a trace: so an executor that is started again goes on with the task instead of asking twice, also another replica.
//   - A message of a turn is sent under an id that is made of the conversation, the seat and the turn. Sent again, by whomever, it has the same id: to a peer that honours
//     it, it is one message. A stream that ends before its task has settled, in whatever way, is subscribed to again or else asked for: nothing is sent a second time for that.
//   - No message that is sent is empty.
//   - When nobody will come back to a task that is open over there it is canceled: when its turn was canceled or given up, when it takes longer than [Options.MaxWait], and, where
//     [Agent.Follow] runs, when the conversation is closed while the task waits for input. A claim that goes on elsewhere leaves the task as it is.
//   - A token goes to the origin of the card and those of [Options.Origins], to nobody else, and is in no error and no log.
//   - What a peer can cost is bounded: the bytes of a response, the events of a stream, the artifacts and parts of an answer, and the time of a turn. What goes over a bound, or is
//     no A2A, is one of the errors of this package.
//
// # Goroutines
//
// A turn is one goroutine, the caller's. Follow owns one for each task that waits for input, at most [MaxFollowed], and waits for them.
package a2a
