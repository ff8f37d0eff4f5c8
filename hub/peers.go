package hub

import (
	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/internal/cluster"
	"github.com/parleyhub/parley/hub/internal/turns"
)

// Peers transport messages between the hubs of one journal. See [cluster.Peers].
type Peers = cluster.Peers

// freshness is what the engine uses of the other hubs.
type freshness struct {
	*cluster.Follower
	*cluster.Presence
}

// localExecutors reports the executors of this hub to the other hubs.
type localExecutors struct {
	*turns.Dispatcher
	hub *Hub
}

// Agents returns the agents that the process of this hub has registered.
func (l localExecutors) Agents() []parley.AgentInfo { return l.hub.agents.list() }

// ExecutorsMoved updates the runners: those with a connection to any hub are online.
func (l localExecutors) ExecutorsMoved(keys []string) {
	l.WithConnected(func(isConnected func(string) bool) {
		for _, key := range keys {
			if isConnected(key) || l.hub.presence.Has(key) {
				l.hub.runners.Connected(key)
			} else {
				l.hub.runners.Disconnected(key)
			}
		}
	})
}
