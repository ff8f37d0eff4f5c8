// Package anthropic is the llm.Provider of Anthropic's Messages API and of compatible servers. It
// uses the official SDK without its retries.
//
// The fields of a Request are sent as follows:
//
//	instructions     system; Request.UseInstructions is ignored
//	output           output_config.format if it is strict, otherwise the schema is part of system
//	seed             ignored, because the API has none
//	max tokens       max_tokens, which the API requires; the default is DefaultMaxTokens
//	metadata         metadata.user_id from the key user_id; other keys are ignored
//	trace id         X-Client-Request-Id
//	idempotency key  Idempotency-Key
//
// Signed thoughts, and other blocks and members that only the vendor can read, are in
// Response.Opaque and are sent back unchanged. A turn that the vendor pauses (pause_turn) is
// continued within the same call. A leading <think> block is Response.Reasoning, unless the server
// is Anthropic's own or Request.ThinkTags is false. If an answer without a stream may take longer
// than the timeout of the SDK, the provider uses a stream on the wire.
//
// Claude gets ids of tool calls that it accepts: an id of another vendor is shortened or has other
// characters, in the call and in its result alike.
//
// An error has the message of the vendor but never the key. Its category is derived only from the
// HTTP status and the error type of the vendor.
package anthropic
