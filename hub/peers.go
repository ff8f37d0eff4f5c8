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

func (l localExecutors) Executors() []cluster.Executor { return l.ConnectedExecutors() }

func (l localExecutors) Agents() []parley.AgentInfo { return l.hub.agents.list() }

func (l localExecutors) HubReported(hubID string, executors map[string]*cluster.Executor) {
	l.EndReplaced(hubID, executors)
}

// ExecutorsMoved tells the runners which of them are connected to any hub.
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
