// Package a2a lets services that speak the Agent2Agent protocol talk to agents of the hub: it gives the methods of a [parley.Client] as tasks of an A2A server.
//
// # Guarantees
//
//   - Nothing of a task is kept here: a task is a fold over the log of its conversation, the same for GetTask, for every stream and after a restart of the hub, of
//     the adapter or of both. Its id names the conversation and the seq of the message that began it.
//   - A stream loses nothing and repeats nothing: the id of each of its SSE events is a cursor into the log. Who subscribes again with the last one that came
//     (Last-Event-ID) gets the task as it was there, then what has happened since, then what happens. All streams of a task carry the same events in the same order.
//   - A message is said once: its messageId is its idempotency key, within its context or, where it begins one, among all that its caller has begun.
//   - A task that has ended stays as it is.
//   - A task belongs to who has begun it. To anybody else it does not exist, in the words in which one that never was does not.
//   - A caller that goes ends its stream, never the task.
//   - Whoever calls may do here what the token may do: the adapter has no rights of its own.
//
// # Contexts, tasks and turns
//
// A context is a conversation between its caller and what the [Agent] stands for. A task is one exchange: from a message of the caller until the floor comes back
// to the caller (it is then completed, or, in a room, needs input), the conversation is closed, or the caller cancels it. See task.go for the table of states.
//
// Sources: A2A 1.0 (specification 1.0.1) and 0.3.0; seed 001 (external participants).
package a2a
