// Package cluster connects hubs that share a journal. A [Follower] reads what other hubs append, so
// that readers wake up and observers see each state. A [Presence] exchanges messages with the other
// hubs: which executors and agents are connected where, and deltas.
//
// No decision depends on either. A hub decides on the head of its journal: an append on an old head
// fails and is decided again. A refusal that may be due to an old state is returned after
// [Follower.CatchUp] only.
//
// Goroutines: [Follower.Run] and [Presence.Run], both started by the hub. Received messages come on a
// goroutine of [Peers]. Locks: Presence.mu is taken after all other mutexes of the hub, and neither
// mutex of this package is held during a call to another package.
package cluster
