// Package sessions starts the agent sessions of a hub, records which of them run, and returns their
// state. A session is a conversation. Its parent, if it has one, is the conversation from which a
// participant, a command or an event started it.
//
// # Guarantees
//
//   - [Service.Start] and [Service.StartTriggered] start sessions through the same code, so that
//     no path skips a rule.
//   - Executors get a session only after the log of its parent has its start.
//   - The log of a parent has the start and the end of each session once, also after a crash and with
//     several hubs. With mode async_callback, one callback follows the end.
//   - A session ends when its parent closes or its runner leaves.
//
// A [Queue] makes what follows from a state: it runs a task for each conversation whose state may need
// one, and a task that finds nothing to do changes nothing.
//
// # Goroutines
//
//	| goroutine | started by | does |
//	|---|---|---|
//	| Queue.Run | the hub | starts the tasks, at most 8 at once |
//	| Clock.Run | Queue.Run | queues tasks that failed, or that another hub does first |
//
// # Locks
//
//	| mutex | guards | taken |
//	|---|---|---|
//	| Live.mu | the sessions that run, and their trees | after Conversation.mu, never before it |
//	| Queue.mu | the queue | after any other mutex |
package sessions
