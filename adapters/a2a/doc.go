// Package a2a is an adapter for the Agent2Agent protocol. With it A2A services talk to agents of
// the hub: the methods of a [parley.Client] are tasks of an A2A server. [New] creates a server, and
// its method Handler serves HTTP.
//
// # Guarantees
//
//   - The adapter stores no task. A task is computed from the log of its conversation. GetTask and
//     all streams return the same task, also after a restart of the hub or the adapter. The task id
//     names the conversation and the seq of the message that began it.
//   - A stream loses and repeats nothing: the id of each SSE event is a cursor into the log. A
//     caller that subscribes again with the last id (Last-Event-ID) receives the task at that
//     position, then the later updates. All streams of a task have the same events in the same
//     order.
//   - A message is posted once. Its messageId is its idempotency key: within its context, or, if it
//     begins a context, among all messages of its caller that begin one.
//   - A task that ended does not change.
//   - A task belongs to the caller that began it. For other callers it does not exist, and the
//     error is the same as for a task that never existed.
//   - A caller that disconnects ends its stream, never the task.
//   - The adapter has no rights: a caller can do here what its token allows.
//
// # Contexts, tasks and turns
//
// A context is a conversation between its caller and the participants of the [Agent]. A task is one
// exchange. It begins with a message of the caller. It ends when the caller has the floor again,
// when the conversation is closed, or when the caller cancels it. In a room, the task needs input
// instead of ending when the caller has the floor again. task.go has the table of states.
//
// Sources: A2A 1.0 (specification 1.0.1) and 0.3.0; seed 001 (external participants).
package a2a
