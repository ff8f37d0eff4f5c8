// Package duel runs replicas of one agent, each a process, and a client that asks them. The
// replicas and their hubs are stopped and killed. Afterwards, the log and the results of all calls
// are checked. The tests that use the package start the hubs and do the harm.
//
// In each turn the client asks, and the replica that has the claim answers: at most one, once. The
// replicas record their calls for package history.
package duel
