// Package openai is the llm.Provider of OpenAI and of servers that speak its API, as ollama and vllm do: the Responses API, and chat completions where Request.API is llm.APIChat or the
// server is not OpenAI's own. It calls through the official SDK, whose retries are off.
//
// What of a Request goes where:
//
//	                 responses                          chat
//	instructions     instructions, or first message     first message, of the role system
//	output           text.format                        response_format
//	seed             left out: there is none            seed
//	max tokens       max_output_tokens                  max_completion_tokens; of other servers max_tokens
//	metadata         metadata                           left out: the vendor takes it only with answers that it stores
//	trace id         X-Client-Request-Id                X-Client-Request-Id
//	idempotency key  Idempotency-Key                    Idempotency-Key
//
// Nothing is stored at the vendor (store is false). Models that reason are asked for their thoughts in encrypted form, which are Response.Opaque and go back unchanged. A tool's result that
// is an error begins with "Error: ", for the API has no mark for it.
//
// An error has the vendor's words but never the key, and is told apart by HTTP status and the vendor's codes alone.
package openai
