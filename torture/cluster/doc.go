// Package cluster attacks several hubs on one log: three hubs on three NATS servers, all of them
// separate processes. As root, each process has its own network, in which its packets can be
// dropped, and its own disk, whose power can be cut. Without root they use the loopback interface,
// and are only killed and paused.
//
// The program is always built with the patch "skew" of package plants, with which a test can set
// the clocks of the hubs.
//
// Writers, readers, subscribers and clients that close conversations continue through all of that,
// on any hub that accepts them. The faults depend on a seed, which is printed.
package cluster
