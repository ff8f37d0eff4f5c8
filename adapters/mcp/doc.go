// Package mcp is an adapter for the Model Context Protocol. With it an MCP client, such as an IDE,
// takes a seat in conversations: the methods of a [parley.Client] are tools, resources and a
// prompt. [NewServer] creates a server; its method Run serves one session, and [NewHandler] serves
// HTTP.
//
// # Guarantees
//
//   - The adapter keeps no state of a conversation. conversation_id, since_seq and
//     client_request_id are arguments, so a restart of the hub, the adapter or the client loses
//     nothing. Reading does not consume messages.
//   - Every message has an idempotency key: client_request_id, or a hash of the arguments. A
//     repeated call posts once. Conversations and sessions are created once for each
//     client_request_id, and once per call without it.
//   - A tool waits for a bounded time, sends progress to a client that asked for it, and names the
//     next call. A client that cancels a call stops the waiting, never the work.
//   - A result has at most [MaxEvents] events and about [MaxChars] characters, and names the call
//     that reads the rest. Its text is complete without the structured content.
//   - A mistake of the caller is a tool result with isError: the reason of protocol.md, the fault,
//     the expected value and the next call.
//   - A session that subscribed to a conversation, and may read it, is notified of changes at most
//     twice a second, and always of the last change. A subscription ends with its session or
//     listen, and when the token of the caller ends.
//   - A task, for clients that declare the extension io.modelcontextprotocol/tasks, is a session of
//     an agent. It is in the log of the hub before the client receives its id, and it outlives the
//     adapter.
//   - A resource, prompt or task that the caller must not see is refused in the same words as one
//     that does not exist.
//   - The adapter has no rights: a caller can do here what its token allows.
//
// Sources: MCP revisions 2025-11-25 and 2026-07-28; seed 001 (external participants), seed 000
// (start of an agent); extension io.modelcontextprotocol/tasks, revision 2026-07-28.
package mcp
