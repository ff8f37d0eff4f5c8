package registry

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/page"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/methods"
)

// Has reports whether a runner is registered.
func (r *Registry) Has(ref parley.RunnerRef) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.findLocked(ref) != nil
}

// BlueprintOf returns the blueprint of a runner with the name of an agent, or nil.
func (r *Registry) BlueprintOf(ref parley.RunnerRef, agent string) *Blueprint {
	r.mu.Lock()
	defer r.mu.Unlock()
	if x := r.findLocked(ref); x != nil {
		return x.agents[agent]
	}
	return nil
}

func (r *Registry) findLocked(ref parley.RunnerRef) *Runner {
	if x := r.runners[ref.RunnerID]; x != nil && x.ParticipantID == ref.ParticipantID {
		return x
	}
	return nil
}

// Find returns the first blueprint with the name of an agent whose labels meet demands, of a runner
// that is online if possible. If none meets them it returns the first blueprint and false.
// runnerID, if not empty, selects one runner. Find returns nil if no blueprint has the name.
func (r *Registry) Find(agent, runnerID string, demands map[string]string) (b *Blueprint, meets bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.byAgent[agent] {
		if runnerID != "" && o.Runner.RunnerID != runnerID {
			continue
		}
		isMatch := fold.MeetsDemands(o.allLabels(), demands)
		if isMatch && (len(demands) == 0 || o.Runner.awaySince == 0) {
			return o, true
		}
		if b == nil || isMatch && !meets {
			b, meets = o, isMatch
		}
	}
	return b, meets
}

// OfExecutors returns the blueprint of an agent that executors serve: one that a participant with
// such an executor registered, or nil. The blueprint of any other participant does not describe
// that agent.
func (r *Registry) OfExecutors(agent string) *Blueprint {
	owners := r.turns.OwnersByAgent()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ofExecutorsLocked(agent, owners)
}

func (r *Registry) ofExecutorsLocked(agent string, owners map[string][]string) *Blueprint {
	for _, b := range r.byAgent[agent] {
		if slices.Contains(owners[agent], b.Runner.ParticipantID) {
			return b
		}
	}
	return nil
}

// HubAgent returns an agent of the process of this hub, or of another hub of the journal, or nil. It
// must not be changed.
func (r *Registry) HubAgent(name string) *parley.AgentInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.hubAgentLocked(name)
}

func (r *Registry) hubAgentLocked(name string) *parley.AgentInfo {
	if info := r.hubAgents[name]; info != nil {
		return info
	}
	return r.presence.Agent(name)
}

// RegisterAgent adds an agent of the process of the hub, until remove is called. remove may be
// called more than once. It fails with ErrValidationFailed, ErrTooLarge or ErrAlreadyExists.
func (r *Registry) RegisterAgent(info parley.AgentInfo) (remove func(), err error) {
	if err := checkAgent(&info); err != nil {
		return nil, err
	}
	info.Online = true
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.hubAgents[info.Name] != nil:
		return nil, parley.Refuse(parley.ErrAlreadyExists, "an agent "+info.Name+" is registered", "another name")
	case sumBytes(r.hubAgents)+rowBytes(&info) > limits.MaxPageBytes:
		return nil, parley.Refuse(parley.ErrTooLarge,
			"the agents no longer fit into one answer", "fewer agents, or smaller schemas")
	}
	r.hubAgents[info.Name] = &info
	r.presence.Changed()
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.hubAgents[info.Name] == &info { // else it is a later registration
			delete(r.hubAgents, info.Name)
		}
		r.presence.Changed()
	}, nil
}

// checkAgent checks an agent of the process of the hub, and makes its schema a compact copy.
func checkAgent(info *parley.AgentInfo) error {
	switch {
	case !parley.ValidParticipantID(info.Name):
		return page.Invalid("1 to 64 of A-Z a-z 0-9 . _ -, beginning with a letter or digit, not hub",
			"name is no id of a participant")
	case !slices.Contains(parley.AgentTypes, info.Type):
		return page.Invalid("agent, deterministic, function or workflow", "type is %q", policy.Clip(string(info.Type)))
	case info.Runner != "" && !parley.ValidParticipantID(info.Runner):
		return page.Invalid("who registers the agent, or nothing for the hub's own process",
			"runner is no id of a participant")
	}
	err := cmp.Or(checkDescription(info.Description),
		checkSize("parameters_schema has", len(info.ParametersSchema), limits.MaxAgentSchemaBytes))
	if err != nil {
		return err
	}
	if err = check.JSON(info.ParametersSchema, SchemaLevel); err == nil {
		err = compactJSON(&info.ParametersSchema, "parameters_schema is", "a JSON Schema")
	}
	if err != nil || info.ParametersSchema != nil && info.ParametersSchema[0] != '{' {
		return page.Invalid("an object that the doors would take as JSON", "parameters_schema is no JSON Schema")
	}
	return nil
}

func sumBytes(rows map[string]*parley.AgentInfo) (sum int) {
	for _, info := range rows {
		sum += rowBytes(info)
	}
	return sum
}

// Agents returns the agents of the process of the hub.
func (r *Registry) Agents() []parley.AgentInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]parley.AgentInfo, 0, len(r.hubAgents))
	for _, info := range r.hubAgents {
		list = append(list, cloneJSON(*info))
	}
	return list
}

// ListAgents returns all agents by name. If an answer has no room for all, the agents of other hubs
// and of executors without a blueprint are left out.
func (r *Registry) ListAgents(p *auth.Principal, q *parley.ListAgentsParams) (out parley.ListAgentsResult, err error) {
	if err := r.auth.Allow(p, methods.ListAgents); err != nil {
		return out, err
	}
	if q == nil {
		q = &parley.ListAgentsParams{}
	}
	list := appendFitting(r.Agents(), r.presence.Agents())
	list = append(list, r.runnerRows(func(x *Runner) bool {
		return q.IncludeConfig && p.OwnsRegistration(x.ParticipantID)
	})...)
	served := make(map[string]*parley.AgentInfo)
	for name, runner := range r.turns.RunnersByAgent() {
		served[name] = &parley.AgentInfo{Name: name, Type: parley.AgentTypeAgent, Runner: runner, Online: true}
	}
	out.Agents = appendFitting(list, served)
	slices.SortFunc(out.Agents, func(a, b parley.AgentInfo) int { return strings.Compare(a.Name, b.Name) })
	if q.IncludeExecutors {
		out.Executors, out.ExecutorsMore = r.turns.ListExecutors(p, roomFor(out.Agents))
	}
	return out, nil
}

// runnerRows returns the rows of the agents of runners. withConfig reports of which runners the
// rows have config and subscriptions.
func (r *Registry) runnerRows(withConfig func(*Runner) bool) (list []parley.AgentInfo) {
	owners := r.turns.OwnersByAgent()
	now := r.now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range r.runners {
		for _, b := range x.agents {
			row := b.row(r.nameLocked(b, owners), now)
			if r.ofExecutorsLocked(b.Name, owners) == b {
				row.Online, row.Stale = true, false
			}
			if !withConfig(x) {
				row.AgentConfig, row.Subscriptions = nil, nil
			}
			list = append(list, cloneJSON(row))
		}
	}
	return list
}

// cloneJSON returns a row that the caller may change.
func cloneJSON(row parley.AgentInfo) parley.AgentInfo {
	row.ParametersSchema, row.OutputSchema = slices.Clone(row.ParametersSchema), slices.Clone(row.OutputSchema)
	row.AgentConfig, row.Subscriptions = slices.Clone(row.AgentConfig), slices.Clone(row.Subscriptions)
	return row
}

// namesOf returns the names by which the agents of a runner are found.
func (r *Registry) namesOf(x *Runner) (list []parley.RegisteredBlueprint) {
	owners := r.turns.OwnersByAgent()
	r.mu.Lock()
	defer r.mu.Unlock()
	current := r.findLocked(x.RunnerRef)
	for _, b := range x.Blueprints {
		name := x.agents[b.Name].qualifiedName()
		if current != nil && current.agents[b.Name] != nil {
			name = r.nameLocked(current.agents[b.Name], owners)
		}
		list = append(list, parley.RegisteredBlueprint{Name: b.Name, AgentName: name})
	}
	return list
}

// nameLocked returns the name by which the agent of a current blueprint is found.
func (r *Registry) nameLocked(b *Blueprint, owners map[string][]string) string {
	first := r.ofExecutorsLocked(b.Name, owners)
	if first == nil && len(owners[b.Name]) == 0 {
		first = r.byAgent[b.Name][0]
	}
	if first == b && r.hubAgentLocked(b.Name) == nil {
		return b.Name
	}
	return b.qualifiedName()
}

// appendFitting appends rows with other names, in the order of names, as long as they fit into an
// answer of listAgents.
func appendFitting(list []parley.AgentInfo, rows map[string]*parley.AgentInfo) []parley.AgentInfo {
	room := roomFor(list)
	for i := range list {
		delete(rows, list[i].Name)
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		if room -= rowBytes(rows[name]); room < 0 {
			break
		}
		list = append(list, *rows[name])
	}
	return list
}

// roomFor returns about how many bytes an answer of listAgents has left for more than these rows.
func roomFor(list []parley.AgentInfo) int {
	room := limits.MaxPageBytes
	for i := range list {
		room -= rowBytes(&list[i])
	}
	return room
}
