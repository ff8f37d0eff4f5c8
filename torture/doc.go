// Package torture holds the tests that treat a real hub badly: a process of its own, real files,
// real sockets, kill -9.
//
// Writers and readers under kill -9, SIGTERM and power cuts are in package power. The duel kills
// the hub, and eight replicas of an agent beside it: then every turn has one final message, whoever
// was killed, every claim that lapses is followed by another in time, and what all callers were
// told fits the model of package history.
//
// Sessions get it too: ten commands end at once while the conversation that has started them is
// busy, and the hub is killed in the middle of it; or their runner is. Then each command has run
// once, each end is told once, and no process is left of any.
package torture
