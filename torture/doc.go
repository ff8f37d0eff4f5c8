// Package torture holds the tests that treat a real hub badly: a process of its own, real files, real sockets, kill -9.
//
// What must hold after every kill: nothing that was acknowledged is missing, nothing is there twice, each writer's words stand in the
// order in which it said them, the seqs have no gap, and the log verifies.
//
// The duel does the same to eight replicas of an agent beside the hub: then every turn has one final message, whoever was killed, every claim
// that lapses is followed by another in time, and what all callers were told fits the model of package turnmodel.
//
// Sessions get it too: ten commands end at once while the conversation that has started them is busy, and the hub is killed in the middle of it; or their
// runner is. Then each command has run once, each end is told once, and no process is left of any.
package torture
