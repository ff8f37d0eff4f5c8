// Package workflow runs agents that are a list of steps. Each step is a session of another agent.
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
//   - Steps run in order. The steps of a parallel group run concurrently, and the next step starts
//     when all of them ended. Each step is a child session of the workflow's conversation. When
//     that is closed, for example by a stop, the hub stops the child sessions.
//   - The session of a step has a key of the workflow's conversation and the name of the step. If
//     the runner of a workflow dies, the next attempt continues after the steps that ended and
//     waits for those that run. No step is started twice. The input of a step is in the log before
//     the step starts, so the input stays the same.
//   - A step fails if its session does not complete. With on_error fail, the default, the workflow
//     then fails after the other steps of the group. With continue it continues. With retry(n) the
//     step is started up to n more times.
//   - A path without a match is a failure that names it. If the step is optional, that member of
//     its input is left out instead.
//
// # Paths
//
// A string that starts with $ is a JSONPath (RFC 9535) over {parameters, context, trigger, steps},
// anywhere in an input or output. A string that starts with $$ is a literal with one $. A singular
// path is replaced by the value that it selects, and any other path by the list of the values.
// steps has the members status, output, text, error and session_id of each step that ended. output
// is the result_data of the session, or its text without result_data. It is missing if the step
// failed, or if the result was too large for a message. Package selector evaluates the paths, with
// at most selector.MaxSteps steps each.
package workflow
