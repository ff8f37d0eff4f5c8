package hub

import (
	"cmp"
	"maps"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/internal/auth"
)

// list gives the executors that p is told of, as many as fit into room bytes, and how many more there are.
func (t *turns) list(p *auth.Principal, room int) (list []parley.ExecutorInfo, more int) {
	all := t.infos(p)
	slices.SortFunc(all, func(a, b parley.ExecutorInfo) int {
		return cmp.Or(cmp.Compare(a.RegisteredBy, b.RegisteredBy), cmp.Compare(a.ExecutorID, b.ExecutorID))
	})
	for i := range all {
		if room -= executorBytes(&all[i]); room < 0 {
			return all[:i], len(all) - i
		}
	}
	return all, 0
}

func (t *turns) infos(p *auth.Principal) []parley.ExecutorInfo {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []parley.ExecutorInfo
	for _, x := range t.executors {
		if seesRegistered(p, x.by.AgentID) {
			list = append(list, x.info())
		}
	}
	return list
}

// info is x as listAgents tells of it.
func (x *executor) info() parley.ExecutorInfo {
	mode := parley.ModePull
	if x.push {
		mode = parley.ModePush
	}
	return parley.ExecutorInfo{
		ExecutorID: x.id, RegisteredBy: x.by.AgentID, Internal: x.conn.internal, Mode: mode, Agents: append([]string{}, x.agents...), Labels: maps.Clone(x.labels),
		Claims: x.load, Capacity: x.capacity,
	}
}

// executorBytes is about what an executor takes in the answer of listAgents.
func executorBytes(x *parley.ExecutorInfo) int {
	n := 200 + len(x.ExecutorID) + len(x.RegisteredBy)
	for _, name := range x.Agents {
		n += len(name) + 3
	}
	for k, v := range x.Labels {
		n += 6 * (len(k) + len(v))
	}
	return n
}
