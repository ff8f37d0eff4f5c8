// Package blueprint reads the files in which agents are described, and runs those that are no LLM agents: commands, functions of the program and workflows. A command has a schema for its
// parameters, is run once for each session, or for each turn at a seat that wakes it, and its output is the result.
//
//	set, faults := blueprint.Load("blueprints")
//	agent := blueprint.New(set, &blueprint.Options{URL: url})
//	err := executors.Run(ctx, client, agent, &executors.Options{Blueprints: set.Blueprints(), ...})
//
// A file of type agent is an LLM agent. It is read and checked here, and run by package executors/llm/agent; [Agent] runs the others, in the shape of package executors/work. [Set.Seats] are the
// agents that may sit in conversations.
//
// A blueprint is a file, in JSON or YAML, on the machine where its command is installed; docs/blueprint.schema.json is its form. The hub is told what the
// agent is called, what it takes and what wakes it, and never what the command is, or the steps.
//
// # Guarantees
//
//   - A command is started without a shell. Its parameters are held against the schema again, and arrive as package arguments says: each as it is,
//     or the session fails before anything is started.
//   - Its environment is made from nothing: PATH, HOME, TZ and LANG of this process, what the file declares, its parameters where they are variables, and
//     PARLEY_SESSION (at a seat PARLEY_CONVERSATION), PARLEY_AGENT, and TRACEPARENT where the turn or the session has one; with [Options.URL] also PARLEY_URL and PARLEY_TOKEN, a token that is good for
//     sessions of its own while it runs.
//   - Where the agent has subscriptions, the context is in a file of PARLEY_CONTEXT_FILE, which is there while the command runs, and, with params_via stdin, the member context of what it reads:
//     the same bytes in both.
//   - It is started at most once for each claim, and a claim is in the log before [Agent.HandleTurn] is called. A blueprint that is not idempotent is not
//     started in a second attempt either, whatever the hub says. At a seat the log says that it is started before it is.
//   - It ends, with all that it has started, by its timeout at the latest (see package process), when the session is stopped and when the claim is lost. A
//     session whose claim was lost is not spoken in.
//   - What it writes is bounded: max_output_bytes of stdout, more of which ends it. Of stderr the newest is kept.
//
// # The result
//
// stdout is result_text, made valid UTF-8, and result_data as well when all of it is JSON that every reader takes in one way. A text of more than
// [MaxTextBytes] becomes a file of the session, as it was written, of which result_text is the beginning. Exit code 0 is a session that has completed.
// Everything else is one that has failed, with its error: what the command wrote to stderr last, or how it has ended. A result that does not match
// output_schema has failed too, and stands there with what is wrong with it.
//
// What comes on stderr while it runs is told as traces of kind progress: at most one a second in the first ten minutes, and ever fewer after that.
//
// # Goroutines
//
// A session is one goroutine, the caller's. One more tells of progress while the command runs, and those of package process carry its streams; all are awaited.
package blueprint
