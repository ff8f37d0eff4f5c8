// Package policy finds who has the floor after a turn has ended with a message, for the policies that look at the message: addressed, rules and
// moderator. It also holds policies against the rules when a conversation is created, and decides limits.stopWhen. Everything in it is a pure
// function: no clock, no I/O. The same [Ended] always gives the same [Choice], in any process.
//
//	Policy, seats          -> Check     -> nil, or a refusal with the path
//	turnHint of a message  -> CheckHint -> nil, or a refusal
//	Ended                  -> Next      -> Choice
//	stopWhen, Ended        -> Stop      -> bool
//
// # Guarantees
//
//   - Next is total: it names a participant, or nobody and why. It never panics, whatever the message holds.
//   - An expression costs at most [parley.MaxExpressionCost] at run time, but for its last step; then it fails. The rules of one turn together cost at most
//     four times as much, but for the last that is tried.
//   - An expression sees the message and the participants' ids, kinds and roles; no private text, no clock, no random number, no time zone of the
//     machine. It goes through the members of an object in the order of their names.
package policy
