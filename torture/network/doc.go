// Package network holds the tests that treat a hub's readers and the network badly: readers that
// stop or take a byte a second, connections that are cut at any byte, peers that are gone without a
// word, and a restart under thousands of clients.
//
// What must hold: each reader has every event of the log, once and in order, over any number of
// connections; one that takes nothing costs bounded memory and delays nobody; a peer that is gone
// is found in time.
//
// The hub is a process of its own, and so are the readers that must be stopped or must be many: the
// test's own program, run again in a role.
package network
