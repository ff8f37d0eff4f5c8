package hub

import (
	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/internal/cluster"
)

// Peers transport messages between the hubs of one journal. See [cluster.Peers].
type Peers = cluster.Peers

// freshness is what the engine uses of the other hubs.
type freshness struct {
	*cluster.Follower
	*cluster.Presence
}

// localExecutors reports the executors of this hub to the other hubs.
type localExecutors struct{ hub *Hub }

func (l localExecutors) Executors() []cluster.Executor { return l.hub.turns.connectedExecutors() }

func (l localExecutors) Agents() []parley.AgentInfo { return l.hub.agents.list() }

func (l localExecutors) HighestStamp() int64 { return l.hub.turns.stamps.highest() }

func (l localExecutors) SeeStamp(stamp int64) { l.hub.turns.stamps.heard(stamp) }

func (l localExecutors) HubReported(hubID string, executors map[string]*cluster.Executor) {
	l.hub.turns.giveWay(hubID, executors)
}

// ExecutorsMoved tells the runners which of them are connected to any hub.
func (l localExecutors) ExecutorsMoved(keys []string) {
	t := l.hub.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, key := range keys {
		if t.executors[key] != nil || l.hub.presence.Has(key) {
			l.hub.runners.came(key)
		} else {
			l.hub.runners.left(key)
		}
	}
}

// connectedExecutors returns the executors that are connected to this hub.
func (t *turns) connectedExecutors() []cluster.Executor {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]cluster.Executor, 0, len(t.executors))
	for _, x := range t.executors {
		all = append(all, cluster.Executor{
			Key: x.key, By: x.by.AgentID, Agents: x.agents, Push: x.push, Internal: x.conn.internal, Stamp: x.stamp,
		})
	}
	return all
}
