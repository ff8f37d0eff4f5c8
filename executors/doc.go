// Package executors runs agents. [Run] lets an agent take its turns in every conversation in which
// it has a seat, inside the process of the hub or in a separate one. It only needs a
// [parley.Client], so both use the same loop and write the same log.
//
// # Guarantees
//
//   - An agent is called under a claim, at most once at a time for each seat. Any number of
//     processes may run the same agent: one of them has the claim, and the hub refuses the others.
//   - While the agent works, its claim is renewed. The agent's ctx ends when the claim is lost, at
//     the deadline, when the hub is unreachable for longer than [Options.GraceMs], and when a drain
//     has no time left.
//   - Each started turn gets an end in the log: its final message, or a released claim with the
//     reason. An error or a panic becomes a trace and a failed attempt, and the hub offers the turn
//     again, to this executor or another. A claim that the process cannot release expires at the
//     hub.
//   - The posts of an attempt have keys derived from its claim. A repeated post has no second
//     effect, and other attempts have other keys.
//   - An agent that does not return after the end of its ctx is abandoned after [Options.Grace].
//     Its claim is released, and its capacity is free for other conversations. Its seat gets no
//     turn here until it returns. The hub refuses its posts.
//   - When ctx ends, Run takes no more turns, lets running ones finish within [Options.Drain],
//     releases the others, and returns nil. It waits for all its goroutines, except agents that do
//     not return. Its error reports those.
//
// # Sessions
//
// With [Options.Blueprints] the executor is a runner of agents. It registers their blueprints after
// each registration, and removes them when Run ends, after the last turn. A turn whose agent waits
// for a session that it started uses no [Options.Capacity], so an agent and its sessions can share
// a small executor. In a session, the reason of a released claim is the text of the agent's error,
// and becomes the error of the result.
//
// # Spans
//
// Each attempt is a span of the [parley.Tracer] of Run's ctx, if it has one. Its parent is the span
// of the claim. The ctx of the agent carries the span, so posts, sessions and calls with that ctx
// are part of it. The span ends with the attempt, even if the agent does not return.
//
// # Push and pull
//
// In push mode the hub offers turns to a free executor. In pull mode the executor lists
// conversations and waits in each of them. Pull mode needs no offers, uses one waiting call per
// conversation, and serves only seats with the client's own id. The log is the same in both modes,
// except for the time between a turn and its claim.
//
// # Goroutines
//
// Run owns a goroutine for its registration, one that registers the blueprints, and one that checks
// the contact with the hub. Each seat at work has one, with one for the renewal of its claim and
// one for the call of its agent. In pull mode there is also one per conversation.
package executors
