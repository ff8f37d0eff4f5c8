// Package work is the one shape of agents that are no model: commands, functions and workflows. Only what is executed differs.
//
//	a turn -> the event that has woken it -> its context -> Execute -> one answer
//
// An [Agent] makes a [parley.Agent] of a [Work]. It takes the turns of sessions, where the parameters are what the caller has said, and turns of seats in conversations, where they are made of
// the event: of its data.input, or its words.
//
// # Guarantees
//
//   - Parameters are filled up by the defaults of the schema and held against it before anything is executed. What does not match is an answer that says so.
//   - The context is asked of the hub only where the agent has subscriptions, once in a turn, and its bytes are passed on as they came.
//   - A turn brings one final message: a session is closed with the result, and a seat says a message that ends its turn. What is too large for a message becomes a file, of which the
//     beginning is said.
//   - What an agent has brought is held against its output_schema, in sessions and at seats alike.
//   - An error or a panic of [Work.Execute] is a failed attempt: the hub offers the turn again, three times in all unless the conversation says otherwise. [Job.Key] is the same in each of
//     them. Work that may be done once only is not begun again: at a seat the log says that it has begun before it begins, and who comes later answers that it was interrupted.
//   - A work whose ctx has ended is not answered for: its claim has ended, or will.
package work
