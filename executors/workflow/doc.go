// Package workflow is the kind of agent that is a list of steps, each of them a session of another agent.
//
//	steps:
//	  - {name: find, agent: smart-search, input: {query: $.parameters.query}}
//	  - parallel:
//	      - {name: sum, agent: summary, input: {text: $.steps.find.output.text}, on_error: retry(2)}
//	      - {name: rate, agent: rating, input: {text: $.steps.find.output.text}, on_error: continue}
//	output: {summary: $.steps.sum.output, rating: $.steps.rate.output.stars}
//
// # Guarantees
//
//   - Steps come in order, and those of a parallel group at once; the next begins when all of them have ended. Each is a session of its own out of the workflow's conversation: when that is closed,
//     as by a stop, the hub stops what is left of them.
//   - The session of a step has a key made of the workflow's conversation and the name of the step. A workflow whose runner has died goes on behind the steps that have ended, and waits for
//     those that run: nothing is started twice. What a step was given is in the log before it is started, so that it is given the same again.
//   - A step fails when its session does not complete. With on_error fail, the default, the workflow fails then, once the others of a group have ended; with continue it goes on; retry(n) starts
//     the step up to n times more.
//   - A path that finds nothing is a failure that names it, unless the step is optional: then that member of its input is left out.
//
// # Paths
//
// A text that begins with $ is a JSONPath (RFC 9535) over {parameters, context, trigger, steps}, wherever it stands in an input or output; $$ begins a text with one $. A path that names one place
// gives what stands there, and any other gives the list of what it finds. steps has, of each step that has ended, status, output, text, error and session_id. output is the result_data of the session
// or, where it has none, its text; it is not there where the step has failed, or where its result was too large for a message.
// Package selector evaluates the paths: a path that takes more than selector.MaxSteps steps is a failure too.
package workflow
