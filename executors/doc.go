// Package executors runs agents: [Run] lets one take its turns in every conversation where it has a seat, inside the hub's process or in one of
// its own. It works over a [parley.Client] alone, so both are the same loop with the same log.
//
// # Guarantees
//
//   - An agent is called under a claim, at most once at a time for a participant of a conversation. Any number of processes may run the same
//     agent: one of them has the claim, and the hub takes the words of no other.
//   - While the agent works its claim is renewed. When the claim is lost, at the deadline, when the hub could not be reached for longer than
//     [Options.GraceMs], and when a drain has no more time, the agent's ctx ends.
//   - What an agent has begun is brought to an end that is in the log: its final message, or a claim that was given back with the reason. An
//     error or a panic becomes a trace and a failed attempt, which is taken up again, here or elsewhere. Nothing is lost silently: what
//     the process cannot give back any more lapses at the hub.
//   - Posts of one attempt have keys of their own, made from its claim: repeated they say nothing twice, and no other attempt meets them.
//   - An agent that does not return when its ctx has ended is left alone after [Options.Grace]: its claim is given back and its place is free for
//     another conversation. Its own gets no turn here until it returns. What it says is refused by the hub.
//   - When ctx ends Run takes no more turns, lets those under way finish for [Options.Drain], gives back the others, and returns nil. It waits for
//     all its goroutines, but for agents that do not return: of these its error tells.
//
// # Sessions
//
// With [Options.Blueprints] the executor is a runner of deterministic agents: it tells the hub of them after each registration, and takes them back when
// Run ends, after the last turn was given back. A turn whose agent waits for a session that it has started takes no room of [Options.Capacity]: so an agent
// and what it starts may run on one executor, however small. In a session the reason with which a claim is given back is what the agent's error says: it
// becomes the error of the result.
//
// # Spans
//
// Each attempt is a span, told to the [parley.Tracer] of Run's ctx where that has one, below the one that its claim names. The ctx of the agent carries it, so that what the agent posts, starts and
// calls under that ctx is a part of it. It ends with the attempt, whatever becomes of that, also where the agent does not return.
//
// # Push and pull
//
// In push mode the hub offers turns as they come, to the executor that is free. In pull mode the executor looks for conversations and waits in each of
// them: that needs no offers, costs a waiting call for each conversation, and serves the seat of the client's own id only. The log is
// the same but for the time between a turn and its claim.
//
// # Goroutines
//
// Run owns: the loop over its registration; one that registers the blueprints; one that asks the hub for signs of life while turns are under way; one for each
// seat at work, with the renewal of its claim and the call of its agent; in pull mode one for each conversation.
package executors
