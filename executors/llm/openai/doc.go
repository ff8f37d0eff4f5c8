// Package openai is the llm.Provider of OpenAI and of compatible servers such as ollama and vllm.
// It uses the Responses API, or chat completions if Request.API is llm.APIChat or the server is not
// OpenAI's own. It uses the official SDK without its retries.
//
// The fields of a Request are sent as follows:
//
//	                 responses                          chat
//	instructions     instructions, or first message     first message, with the role system
//	output           text.format                        response_format
//	seed             ignored, because the API has none  seed
//	max tokens       max_output_tokens                  max_completion_tokens; max_tokens for models of others
//	metadata         metadata                           ignored, because it requires store
//	trace id         X-Client-Request-Id                X-Client-Request-Id
//	idempotency key  Idempotency-Key                    Idempotency-Key
//
// The vendor stores nothing (store is false). Reasoning models return their thoughts in encrypted
// form. These, and unknown members of messages and calls, are in Response.Opaque and are sent back
// unchanged. A leading <think> block is Response.Reasoning, unless the server is OpenAI's own or
// Request.ThinkTags is false. The body of an answer decides whether it is a stream. A tool result that is an error
// starts with "Error: ", because the API has no field for it.
//
// Models of OpenAI and Mistral get ids of tool calls that they accept: a longer id of another vendor
// is shortened, in the call and in its result alike.
//
// An error has the message of the vendor but never the key. Its category is derived only from the
// HTTP status and the error code of the vendor.
package openai
