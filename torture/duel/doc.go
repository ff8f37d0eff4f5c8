// Package duel is replicas of one agent, each a process, and a person who asks them: what they do
// while they, and the hubs that they use, are stopped and killed, and how the log and all that
// callers were told is held against what must be. Who uses it starts the hubs and does the harm.
//
// In a turn the person asks, and whichever replica has the claim answers: at most one, once.
// Replicas write down their calls, which package history judges.
package duel
