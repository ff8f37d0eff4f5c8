// Package executors runs agents: [Loop] lets one take its turns in one conversation, [Serve] in all conversations of its client.
//
// # Guarantees
//
//   - An agent is called when the hub says that it may speak, and not again for the same state of the log: one that has nothing to
//     say is called again when something was added.
//   - A turn that is handled again, after an error, a panic or a crash of the process, repeats its idempotency keys. An agent that
//     decides the same says nothing twice. One that decides otherwise goes on in the same turn behind what it had said.
//   - An error or a panic of an agent ends neither the loop nor the process: it is logged, and the turn is tried again after a
//     jittered pause. That the turn was lost meanwhile (turn_closed, not_your_turn, turn_conflict, conversation_closed) is no error.
//   - In conversations where anyone may speak, an agent is not called right after its own message.
//   - Serve waits for all its goroutines.
//
// Any number of processes may run the same agent; both are called, and the hub takes the words of the first.
package executors
