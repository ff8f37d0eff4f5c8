// Package mcp lets a program that speaks the Model Context Protocol, such as an IDE, take a seat in conversations: it gives the methods of a [parley.Client] as
// tools, resources and a prompt.
//
// # Guarantees
//
//   - Nothing of a conversation is kept here: conversation_id, since_seq and client_request_id are arguments, so that a restart of the hub, of the adapter or of
//     its client loses nothing. Reading does not consume.
//   - A message carries a key: client_request_id, or one that is made of what is said and where. The same call again posts once. What is created or started is so
//     once for each client_request_id, and anew without one.
//   - A tool waits for a bounded time, tells its progress meanwhile to who asks for it, and says what to call next. A client that gives up a call stops the waiting,
//     never the work.
//   - A result is at most [MaxEvents] events and about [MaxChars] characters, says how to read the rest, and its text suffices without its structured content.
//   - What a caller did wrong is a tool's result with isError, with the reason of protocol.md, what was wrong, what is right, and the next call to make.
//   - Who has subscribed to a conversation, and may read it, is told that it has changed: at most twice a second, and always of the last change. A subscription
//     ends with its session or listen, and when the caller's token ends; then nothing more is told.
//   - A task, for clients that know the extension io.modelcontextprotocol/tasks, is a session of an agent: it is in the hub's log before its id is told, and outlives
//     the adapter.
//   - What a caller may not see is not there: a resource, a prompt or a task of others is refused in the same words as one that does not exist.
//   - Whoever calls may do here what the token may do: the adapter has no rights of its own.
//
// Sources: MCP revisions 2025-11-25 and 2026-07-28; seed 001 (external participants), seed 000 (start of an agent); extension io.modelcontextprotocol/tasks, revision 2026-07-28.
package mcp
