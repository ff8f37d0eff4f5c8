// Package anthropic is the llm.Provider of Anthropic's Messages API, and of servers that speak it. It calls through the official SDK, whose retries are off.
//
// What of a Request goes where:
//
//	instructions     system, whatever Request.UseInstructions says: there is no other place for them
//	output           output_config.format where it is strict; else the schema is told beside the instructions
//	seed             left out: there is none
//	max tokens       max_tokens, which the API insists on: DefaultMaxTokens where none is given
//	metadata         metadata.user_id is that of the key user_id; the rest is left out: there is no place for it
//	trace id         X-Client-Request-Id
//	idempotency key  Idempotency-Key
//
// Thoughts that are signed, and whatever else only the vendor reads, are Response.Opaque and go back unchanged. What is not streamed but may take longer than the vendor lets one wait is
// streamed on the wire all the same.
//
// An error has the vendor's words but never the key, and is told apart by HTTP status and the vendor's types alone.
package anthropic
