package hub

import (
	"github.com/parleyhub/parley/hub/internal/cluster"
	"github.com/parleyhub/parley/hub/internal/registry"
	"github.com/parleyhub/parley/hub/internal/turns"
)

// Peers transport messages between the hubs of one journal. See [cluster.Peers].
type Peers = cluster.Peers

// freshness is what the engine uses of the other hubs.
type freshness struct {
	*cluster.Follower
	*cluster.Presence
}

// localExecutors reports the executors and agents of this hub to the other hubs.
type localExecutors struct {
	*turns.Dispatcher
	*registry.Registry
}
