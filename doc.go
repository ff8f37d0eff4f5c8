// Package parley defines the types that all parts of a Parley conversation hub share: the hub, its
// clients and the agents. It depends on the standard library only.
//
// # Start here
//
//   - A [Client] calls a hub. Package sdk connects to a hub over a WebSocket, and package hub
//     returns a Client in its own process. Both have the same methods, types and errors.
//
//   - An [Agent] takes turns in conversations. sdk.Run connects it to a hub, and sdk.Serve runs it
//     with an existing Client.
//
//   - An [Event] is one entry of the log of a conversation: a [Message], a [Trace] or a [System]
//     event.
//
// An agent reads the messages of its turn and posts one that ends the turn:
//
//	agent := parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
//		updates, err := turn.Updates(ctx) // the messages since the last turn of the agent
//		if err != nil {
//			return "", err
//		}
//		reply := parley.Message{Text: fmt.Sprintf("%d new messages", len(updates.Messages))}
//		_, err = turn.Post(ctx, reply, parley.FinalityTurn)
//		return parley.TurnPosted, err
//	})
//
// A client creates a conversation, sends a message and reads the events:
//
//	c, err := sdk.Dial(ctx, "ws://127.0.0.1:7447/rpc", &sdk.Options{Token: token})
//	...
//	conversation, err := c.CreateConversation(ctx, &parley.CreateConversationParams{
//		Participants: []parley.Participant{
//			{ID: "alice", Kind: parley.KindHuman},
//			{ID: "counter", Kind: parley.KindAgent},
//		},
//	})
//	...
//	for event, err := range c.Events(ctx, conversation.ConversationID, 0) {
//		...
//	}
//
// The examples of packages sdk, sdk/sdktest and hub are complete programs. The glossary in docs has
// the terms, and protocol.md has the exact rules of each method.
//
// # Guarantees
//
//   - Durability: an acknowledged event survives a crash of the hub and of its host.
//
//   - Errors: an append succeeds, is refused and never appears in the log, or its outcome is
//     unknown ([ErrOutcomeUnknown]). Retry the last case with the same ClientRequestID.
//
//   - Idempotency: an append repeated with the same ClientRequestID returns the first result. This
//     is true without a time limit, and also for the message that closed the conversation.
//
//   - Order: the seqs of a conversation are 1, 2, 3 and so on, without gap or reuse. Event.At never
//     decreases.
//
//   - One speaker: only the participant that has the floor appends messages and traces. Nothing is
//     added to a closed turn. Nothing at all is added to a closed conversation.
//
//   - One final message per turn, however many executors run the agent and whichever process is
//     killed. Only the holder of the current claim appends. The events of a failed attempt are
//     withdrawn. The agent itself may run more than once for one turn.
//
//   - Reading: a reader continues after its cursor without gap or repeat, over any number of
//     reconnects and restarts.
//
//   - Slow readers: a slow reader uses bounded memory and delays no one.
//
//   - Guidance is a function of the log. It is the same whether it is pushed, requested, or
//     computed after a restart. Only its Reason also reports that no executor runs the agent.
//
// # Limits of the guarantees
//
// A [Delta] reaches current live subscribers only. It is not stored and may be skipped. A
// notification reports what was true at its seq. Only an append decides which of several callers
// was first.
package parley
