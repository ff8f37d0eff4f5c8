package hub

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/cluster"
)

// agents are those that can be asked to do something, by name. They are no part of the log: who registers them does so again after a restart.
type agents struct {
	presence *cluster.Presence // of the hub

	mu    sync.Mutex // guards the fields below
	named map[string]*parley.AgentInfo
	bytes int // about those of the answer to listAgents
}

// RegisterAgent offers an agent to everybody who may read, until remove is called; remove may be called more than once. The name is that of a
// participant. It fails with ErrValidationFailed, ErrTooLarge (also when all of them would not fit into one answer of listAgents), and
// ErrAlreadyExists. Online is set by the hub.
func (h *Hub) RegisterAgent(info parley.AgentInfo) (remove func(), err error) {
	if err := checkAgent(&info); err != nil {
		return nil, err
	}
	info.Online = true
	if err := h.agents.add(&info); err != nil {
		return nil, err
	}
	h.presence.Changed()
	return func() {
		h.agents.remove(&info)
		h.presence.Changed()
	}, nil
}

// checkAgent holds info against its bounds, and makes its schema compact and its own.
func checkAgent(info *parley.AgentInfo) error {
	switch {
	case !parley.ValidParticipantID(info.Name):
		return parley.Refuse(parley.ErrValidationFailed, "name is no id of a participant", "1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit, not hub")
	case !slices.Contains(parley.AgentTypes, info.Type):
		return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("type is %q", info.Type), "agent, deterministic, function or workflow")
	case !utf8.ValidString(info.Description):
		return parley.Refuse(parley.ErrValidationFailed, "description is not UTF-8", "text in UTF-8")
	case info.Runner != "" && !parley.ValidParticipantID(info.Runner):
		return parley.Refuse(parley.ErrValidationFailed, "runner is no id of a participant", "who registers the agent, or nothing for the hub's own process")
	case len(info.Description) > parley.MaxAgentDescriptionBytes:
		return parley.Refuse(parley.ErrTooLarge, fmt.Sprintf("description has %d bytes", len(info.Description)),
			fmt.Sprintf("at most %d", parley.MaxAgentDescriptionBytes))
	case len(info.ParametersSchema) > parley.MaxAgentSchemaBytes:
		return parley.Refuse(parley.ErrTooLarge, fmt.Sprintf("parameters_schema has %d bytes", len(info.ParametersSchema)),
			fmt.Sprintf("at most %d", parley.MaxAgentSchemaBytes))
	case len(info.ParametersSchema) == 0:
		info.ParametersSchema = nil
		return nil
	}
	err := checkJSON(info.ParametersSchema, schemaLevel)
	if err == nil {
		info.ParametersSchema, err = fold.Compact(bytes.Clone(info.ParametersSchema))
	}
	if err != nil || info.ParametersSchema[0] != '{' {
		return parley.Refuse(parley.ErrValidationFailed, "parameters_schema is no JSON Schema", "an object that the doors would take as JSON")
	}
	return nil
}

// schemaLevel is how deep a schema stands in the reply to listAgents.
const schemaLevel = 4

// rowBytes is about what an agent takes in the answer of listAgents: escaped, a byte of a description is six at most.
func rowBytes(info *parley.AgentInfo) int {
	return 200 + len(info.Name) + 6*len(info.Description) + len(info.ParametersSchema) + len(info.OutputSchema) + len(info.AgentConfig) + len(info.Subscriptions) + len(info.Runner)
}

func (a *agents) add(info *parley.AgentInfo) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.named[info.Name] != nil {
		return parley.Refuse(parley.ErrAlreadyExists, "an agent "+info.Name+" is registered", "another name")
	}
	if a.bytes+rowBytes(info) > parley.MaxPageBytes {
		return parley.Refuse(parley.ErrTooLarge, "the agents no longer fit into one answer", "fewer agents, or smaller schemas")
	}
	if a.named == nil {
		a.named = make(map[string]*parley.AgentInfo)
	}
	a.named[info.Name] = info
	a.bytes += rowBytes(info)
	return nil
}

// remove takes this registration away, and no later one of the same name.
func (a *agents) remove(info *parley.AgentInfo) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.named[info.Name] == info {
		delete(a.named, info.Name)
		a.bytes -= rowBytes(info)
	}
}

// ListAgents gives the registered agents by name.
func (h *Hub) ListAgents(_ context.Context, p *auth.Principal, q *parley.ListAgentsParams) (parley.ListAgentsResult, error) {
	if err := h.auth.Allow(p, parley.MethodListAgents); err != nil {
		return parley.ListAgentsResult{}, err
	}
	config := func(r parley.RunnerRef) bool { return q != nil && q.IncludeConfig && mayReadConfig(p, r) }
	out := parley.ListAgentsResult{Agents: h.withExecutors(append(h.withPeers(h.agents.list()), h.runners.list(h.taken(), config)...))}
	if q != nil && q.IncludeExecutors {
		out.Executors, out.ExecutorsMore = h.turns.ListExecutors(p, room(out.Agents))
	}
	return out, nil
}

// withPeers adds the agents that the processes of other hubs of the journal have registered, as far as the answer has room for them.
func (h *Hub) withPeers(list []parley.AgentInfo) []parley.AgentInfo {
	others := h.presence.Agents()
	room := h.agents.room()
	for i := range list {
		delete(others, list[i].Name)
	}
	for _, name := range slices.Sorted(maps.Keys(others)) {
		if room -= rowBytes(others[name]); room < 0 {
			break
		}
		list = append(list, *others[name])
	}
	return list
}

// room is about how many bytes an answer of listAgents has left for more than these agents.
func room(list []parley.AgentInfo) int {
	n := parley.MaxPageBytes
	for i := range list {
		n -= rowBytes(&list[i])
	}
	return n
}

// mayReadConfig reports whether p is told what the agents of a runner are made of, and what wakes them.
func mayReadConfig(p *auth.Principal, r parley.RunnerRef) bool {
	return p.OwnsRegistration(r.ParticipantID)
}

// withExecutors adds the agents that executors run, of whom no more is known, as far as the answer has room for them.
func (h *Hub) withExecutors(list []parley.AgentInfo) []parley.AgentInfo {
	known := make(map[string]bool, len(list))
	for i := range list {
		known[list[i].Name] = true
	}
	room := room(list)
	runners := h.turns.RunnersByAgent()
	for _, name := range slices.Sorted(maps.Keys(runners)) {
		runner := runners[name]
		info := parley.AgentInfo{Name: name, Type: parley.AgentTypeAgent, Runner: runner, Online: true}
		if room -= rowBytes(&info); room < 0 {
			break
		}
		if !known[name] {
			list = append(list, info)
		}
	}
	sortAgents(list)
	return list
}

func (a *agents) list() []parley.AgentInfo {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := make([]parley.AgentInfo, 0, len(a.named))
	for _, info := range a.named {
		one := *info
		one.ParametersSchema = bytes.Clone(info.ParametersSchema)
		list = append(list, one)
	}
	sortAgents(list)
	return list
}
