// Package torture holds the tests that treat a real hub badly: a process of its own, real files, real sockets, kill -9.
//
// What must hold after every kill: nothing that was acknowledged is missing, nothing is there twice, each writer's words stand in the
// order in which it said them, the seqs have no gap, and the log verifies.
package torture
