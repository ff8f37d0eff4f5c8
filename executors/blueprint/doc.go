// Package blueprint reads the files that describe agents, and runs agents that are not LLM agents:
// commands, functions of the program and workflows. A command has a schema for its parameters. It
// runs once for each session, or for each turn of a seat that a trigger starts, and its output is
// the result.
//
//	set, faults := blueprint.Load("blueprints")
//	agent := blueprint.New(set, &blueprint.Options{URL: url})
//	err := executors.Run(ctx, client, agent, &executors.Options{Blueprints: set.Blueprints(), ...})
//
// A file of type agent is an LLM agent. This package reads and checks it, and package
// executors/llm/agent runs it. [Agent] runs the others, based on package executors/work.
// [Set.Seats] are the agents that may have seats in conversations.
//
// A blueprint is a JSON or YAML file on the machine where its command is installed.
// docs/blueprint.schema.json is its schema. The hub gets the name, the schemas and the triggers of
// the agent, but neither its command nor its steps.
//
// # Guarantees
//
//   - A command is started without a shell. Its parameters are validated again, and passed on as
//     package arguments defines. If a parameter cannot be passed on unchanged, the session fails
//     before the command starts.
//   - Its environment has PATH, HOME, TZ and LANG of this process, the variables of the file, its
//     parameters if they are variables, PARLEY_SESSION (in a seat PARLEY_CONVERSATION) and
//     PARLEY_AGENT. It has TRACEPARENT if the turn or the session has one. With [Options.URL] it
//     also has PARLEY_URL and PARLEY_TOKEN, a token that can start sessions while the command runs.
//   - If the agent has subscriptions, the context is in the file of PARLEY_CONTEXT_FILE while the
//     command runs. With params_via stdin, it is also the member context of stdin, with the same
//     bytes.
//   - It is started at most once for each claim, and the claim is in the log before
//     [Agent.HandleTurn] is called. A blueprint that is not idempotent is never started in a second
//     attempt. In a seat, a trace marks the start.
//   - It is stopped with all its processes at its timeout at the latest (see package process), when
//     the session is stopped, and when the claim is lost. After a lost claim, nothing is posted in
//     the session.
//   - Its output is limited: exceeding max_output_bytes of stdout stops it, and only the newest
//     stderr is kept.
//
// # The result
//
// stdout is result_text, as valid UTF-8. It is also result_data if it is JSON alone that all
// readers decode in the same way. A text of more than [MaxTextBytes] becomes a file with the
// unchanged bytes, and result_text is its beginning. With exit code 0 the session is completed.
// Otherwise it failed, and its error is the last stderr of the command, or how it ended. A result
// that does not match output_schema is a failure with the errors.
//
// stderr of a running command becomes traces of kind progress: at most one per second in the first
// ten minutes, then fewer.
//
// # Goroutines
//
// A session uses the goroutine of the caller, one that writes progress while the command runs, and
// those of package process for its streams. All end before the call returns.
package blueprint
