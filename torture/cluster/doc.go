// Package cluster holds the tests that attack several hubs on one log: three hubs, each the
// program, on three NATS servers, all of them processes of their own. As root each has a network of
// its own, in which what it sends to others can be lost without a word, and a disk of its own,
// whose power can be cut; else they are on loopback, and are only killed and paused.
//
// The program is always built with the patch "skew" of package plants, which lets the clocks of the
// hubs be wrong.
//
// Writers, readers, some who close conversations and subscribers go on over all of it, at whichever
// hub takes them. The faults are drawn by a seed, which is printed.
package cluster
