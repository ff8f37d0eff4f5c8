// Package replay records the answers of models and tools in a run, and replays them: the same
// bytes, chunks of streams and errors, without a network and without keys.
//
//	c, err := replay.Open("run.jsonl", &replay.Options{Mode: replay.Record})
//	p := c.Provider(vendor) // records each exchange
//	t := c.Tool(refund)     // records each run of the tool
//
// In the mode Play, c.Provider(vendor) does not call the vendor, and c.Player("openai") needs none.
// Auto replays only successful answers: an exchange that failed or was canceled is repeated. A
// replayed tool of an MCP server is not run, but its server is still connected to list the tools.
// Agents that are called as tools, and children, run again, because they have their own
// conversations.
//
// An answer is found by its request: the nth identical request gets the nth recorded answer, in any
// order of other requests. Two requests are identical if they have the same model, instructions,
// messages, tools, output and parameters. The comparison ignores max_tokens, which depends on the
// rest of a budget, idempotency keys, trace ids, metadata, and generated ids of conversations,
// sessions and runners. A replayed answer that contains such an id contains that of the recorded
// run. A request without an answer fails with [ErrNotRecorded], which describes the difference from
// the most similar recorded request.
//
// A cassette is a file of JSON lines, whose first line has the version. It can also be a directory
// of such files, with one file per recording process. Each line is written with one system call, so
// a killed process leaves at most one incomplete line at the end. Open reports and ignores it. A
// cassette has no keys or headers, because an [llm.Request] has none. It has everything that models
// were sent, so protect it like a log.
//
// A call that its caller canceled is recorded up to that point. It is replayed only if no complete
// answer is left, and then waits until its caller cancels it.
package replay
