// Package work is the common part of agents without a model: commands, functions and workflows.
//
//	turn -> trigger event -> context -> Execute -> one answer
//
// An [Agent] makes a [parley.Agent] of a [Work]. It handles turns of sessions, with the parameters
// of the caller, and turns in seats, with parameters from the trigger event: its data.input, or its
// text.
//
// # Guarantees
//
//   - Parameters are completed with the defaults of the schema and validated before the work is
//     executed. Invalid parameters are answered with their errors.
//   - The context is fetched only for an agent with subscriptions, once per turn, and passed on
//     unchanged.
//   - A turn posts one final message: the result of a session, or a message that ends the turn of a
//     seat. A result that is too large for a message becomes a file, and the message has its
//     beginning.
//   - The result is validated against output_schema, in sessions and in seats.
//   - An error or a panic of [Work.Execute] is a failed attempt. The hub offers the turn again, up
//     to three attempts unless the conversation defines another limit. [Job.Key] is the same in
//     each attempt. Work with Options.Once is not started again: in a seat, a trace marks its
//     start, and a later attempt answers that it was interrupted.
//   - If ctx ends during the work, no answer is posted, because the claim ended or will end.
package work
