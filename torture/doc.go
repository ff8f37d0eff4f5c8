// Package torture has tests that attack a real hub: a separate process with real files and sockets,
// which is killed with SIGKILL.
//
// Package power has the writers and readers under SIGKILL, SIGTERM and power cuts. The duel kills
// the hub and eight replicas of an agent. Afterwards every turn has one final message, every claim
// that expired is followed by another one in time, and the results of all calls fit the model of
// package history.
//
// Another test ends ten sessions of commands at once while their parent is busy, and kills the hub
// or the runner. Afterwards each command ran once, each end is reported once, and no process
// remains.
package torture
