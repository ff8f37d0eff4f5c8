// Package replay records what models and tools have answered in a run, and plays it back: the same bytes, pieces of streams and errors, without a network and without keys.
//
//	c, err := replay.Open("run.jsonl", &replay.Options{Mode: replay.Record})
//	p := c.Provider(vendor) // every exchange is kept
//	t := c.Tool(refund)     // every run of the tool too
//
// Opened with Play, c.Provider(vendor) asks no vendor, and c.Player("openai") needs none. Auto plays back what has succeeded: an exchange that failed, or was ended, is made again. A tool of
// an MCP server is not run where it is played back, but its server is asked all the same which tools it has. Agents that are called as tools, and children, take their turns again, for
// these are conversations of their own.
//
// An answer is found by what was asked: the nth identical request gets the nth answer that was recorded for it, whatever else goes on beside it and in whatever order. Two requests are
// identical when their models, instructions, messages, tools, output and parameters are. What does not count: max_tokens, which depends on what is left of a budget, an idempotency key,
// a trace id, metadata, and ids of conversations, sessions and runners that were made up. A model that says such an id says that of the run that was recorded. What was not recorded
// fails with [ErrNotRecorded], and says where the nearest recorded request differs.
//
// A cassette is a file of JSON lines, of which the first says its version; or a directory of such files, where each process that records has one of its own. A line is written by one
// call, so a process that is killed leaves at most one broken line at the end, which is told of and left out. No keys or headers are in it, since no [llm.Request] has any, but all that
// models were told is: keep it as one keeps a log.
//
// A call that its caller has ended is kept as far as it came. It is played back only where no whole answer is left, and then waits for its caller to end it again.
package replay
