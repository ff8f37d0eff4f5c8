// Package policy decides who has the floor after a turn that ended with a message, for the policies that read the
// message: addressed, rules and moderator. It also checks policies when a conversation is created, and evaluates
// limits.stopWhen. Its functions are pure: they use no clock and no I/O. The same [Ended] has the same [Choice] in
// every process.
//
//	Policy, seats          -> Check     -> nil, or a refusal with the path
//	turnHint of a message  -> CheckHint -> nil, or a refusal
//	Ended                  -> Next      -> Choice
//	stopWhen, Ended        -> Stop      -> bool
//
// # Guarantees
//
//   - Next is total: it returns a participant, or no participant and the reason. It never panics.
//   - An expression that costs more than [parley.MaxExpressionCost] fails, after at most one further step. The rules
//     of one turn together cost at most four times as much, except the last one that is evaluated.
//   - An expression reads the message, and the ids, kinds and roles of the participants. It reads no private text, no
//     clock, no random number and no time zone of the machine. It iterates objects in the order of their names.
package policy
