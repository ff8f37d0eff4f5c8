// Package simulation runs a whole hub with its servers and clients in one bubble of
// testing/synctest, over a journal and a network in memory, and breaks both.
//
// A seed determines the plan: the actions of each client, and the faults. The hub is killed,
// drained, or cannot write. Its storage is full, or the answer to a commit is lost. A connection is
// cut after a number of bytes, or all clients pause for minutes. Time is simulated, so a minute
// costs nothing, and a wait that is too long is noticed at once. The order of simultaneous steps
// and the jitter of backoff do not depend on the seed. So a seed repeats the plan, but not every
// step.
//
// Afterwards the logs are compared with the results of all clients.
package simulation
