package hub

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/turns"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/arguments"
	"github.com/parleyhub/parley/internal/paramschema"
)

// Why a runner is no more.
const (
	runnerLeft    = "left"
	runnerOffline = "offline"
)

// RegisterBlueprints replaces the agents that the executor of p's connection runs. With none the
// executor leaves. The calls of a connection take effect in their order.
func (h *Hub) RegisterBlueprints(
	p *auth.Principal, q *parley.RegisterBlueprintsParams, done func(parley.RegisterBlueprintsResult, error),
) {
	_, err := h.runnerOf(p)
	if err == nil {
		err = h.conv.Begin()
	}
	if err != nil {
		done(parley.RegisterBlueprintsResult{}, err)
		return
	}
	answered := make(chan struct{})
	before := turns.ConnectionOf(p).QueueBlueprints(answered)
	h.conv.Go(func() { // to compile schemas takes time
		defer h.conv.End()
		if before != nil {
			<-before
		}
		answer := func(r parley.RegisterBlueprintsResult, err error) {
			close(answered)
			done(r, err)
		}
		x, err := h.runnerOf(p)
		if err != nil { // the connection ended in the meantime
			answer(parley.RegisterBlueprintsResult{}, err)
			return
		}
		h.registerBlueprints(p, x, q, answer)
	})
}

// runnerOf gives the executor of p's connection.
func (h *Hub) runnerOf(p *auth.Principal) (*turns.Registration, error) {
	if err := h.auth.AllowClaims(p, parley.MethodRegisterBlueprints); err != nil {
		return nil, err
	}
	if x := turns.ConnectionOf(p).Registration(); x != nil {
		return x, nil
	}
	return nil, parley.Refuse(parley.ErrValidationFailed, "the connection is registered as no executor", "registerExecutor before")
}

func (h *Hub) registerBlueprints(p *auth.Principal, x *turns.Registration, q *parley.RegisterBlueprintsParams, done func(parley.RegisterBlueprintsResult, error)) {
	ref := parley.RunnerRef{RunnerID: x.ExecutorID, ParticipantID: x.Owner}
	if err := h.conv.CatchUp(h.conv.Context()); err != nil { // what is known of it decides what is written
		done(parley.RegisterBlueprintsResult{}, err)
		return
	}
	if len(q.Blueprints) == 0 {
		h.runners.leave(ref, runnerLeft, func(err error) { done(parley.RegisterBlueprintsResult{Agents: []parley.RegisteredBlueprint{}}, err) })
		return
	}
	record := &parley.RunnerRecord{RunnerRef: ref, Labels: x.Labels, Workspaces: watchableBy(p), Internal: x.Internal}
	made, err := h.checkBlueprints(p, record, q.Blueprints)
	if err == nil {
		err = h.runners.say(record, made)
	}
	if err == nil && !h.runners.has(ref) {
		err = errRunnerTaken(x.ExecutorID)
	}
	if err != nil {
		done(parley.RegisterBlueprintsResult{}, err)
		return
	}
	h.sessions.QueueOfRunner(ref, false)
	h.triggers.QueueWaiting(false)
	done(h.runners.found(h, record), nil)
}

// say writes what a runner says, one after the other, unless it is known or there is no room for it.
func (r *runners) say(record *parley.RunnerRecord, made *runner) error {
	r.saying.Lock()
	defer r.saying.Unlock()
	if err := r.admits(made); err != nil || r.knows(record) {
		return err
	}
	if err := r.spend(record.ParticipantID, made.bytes); err != nil {
		return err
	}
	written := make(chan error, 1)
	r.write(0, parley.System{Kind: parley.KindRunnerRegistered, RunnerRecord: record}, func(err error) { written <- err })
	return <-written
}

// checkBlueprints holds what a runner says against the rules, and puts it into record.
func (h *Hub) checkBlueprints(by *auth.Principal, record *parley.RunnerRecord, all []parley.Blueprint) (*runner, error) {
	if len(all) > parley.MaxBlueprints {
		return nil, parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("blueprints: there are %d", len(all)), fmt.Sprintf("at most %d", parley.MaxBlueprints))
	}
	seen := map[string]bool{}
	for i := range all {
		b := all[i]
		if !parley.ValidParticipantID(b.Name) || seen[b.Name] {
			return nil, parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("blueprints[%d]: %q is no name of an agent, or there twice", i, policy.Clip(b.Name)), "different names like ids of participants")
		}
		seen[b.Name] = true
		if err := checkBlueprint(&b); err != nil {
			return nil, atBlueprint(b.Name, err)
		}
		if err := checkSubscriber(by, &b); err != nil {
			return nil, err
		}
		record.Blueprints = append(record.Blueprints, b)
	}
	made := newRunner(record)
	if err := made.compile(); err != nil {
		return nil, err
	}
	for _, b := range made.agents {
		if !b.isCommand() {
			continue
		}
		if err := arguments.CheckNames(b.ParamsVia, b.parameters.Properties()); err != nil {
			return nil, atBlueprint(b.Name, err)
		}
	}
	return made, nil
}

// atBlueprint says of which blueprint a refusal is.
func atBlueprint(name string, err error) error {
	var e *parley.Error
	if errors.As(err, &e) {
		return parley.Refuse(e.Err, "blueprint "+name+": "+e.Message, e.Expected)
	}
	return err
}

// checkBlueprint holds a blueprint against its bounds, and makes its schemas compact and its own.
func checkBlueprint(b *parley.Blueprint) error {
	switch {
	case !utf8.ValidString(b.Description):
		return parley.Refuse(parley.ErrValidationFailed, "description is not UTF-8", "text in UTF-8")
	case len(b.Description) > parley.MaxAgentDescriptionBytes:
		return parley.Refuse(parley.ErrTooLarge, fmt.Sprintf("description has %d bytes", len(b.Description)), fmt.Sprintf("at most %d", parley.MaxAgentDescriptionBytes))
	case !b.ParamsVia.Valid():
		return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("params_via is %q", policy.Clip(string(b.ParamsVia))), "flags, stdin or env")
	case b.TimeoutMs != 0 && (b.TimeoutMs < parley.MinDurationMs || b.TimeoutMs > parley.MaxSessionTimeoutMs):
		return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("timeout_ms is %d", b.TimeoutMs), fmt.Sprintf("%d to %d", parley.MinDurationMs, parley.MaxSessionTimeoutMs))
	case len(b.ParametersSchema) == 0:
		return parley.Refuse(parley.ErrValidationFailed, "there is no parameters_schema", "a JSON Schema")
	}
	for _, schema := range []*json.RawMessage{&b.ParametersSchema, &b.OutputSchema} {
		if len(*schema) == 0 {
			*schema = nil
			continue
		}
		if err := checkSchema(schema); err != nil {
			return err
		}
	}
	if err := checkKind(b); err != nil {
		return err
	}
	if err := checkSubscriptions(b); err != nil {
		return err
	}
	return fold.CheckLabels("labels", b.Labels)
}

// checkSubscriptions holds what wakes an agent against its bounds, and makes it compact and its own. Its selectors are held against the rules when they are compiled.
func checkSubscriptions(b *parley.Blueprint) error {
	if len(b.Subscriptions) == 0 {
		b.Subscriptions = nil
		return nil
	}
	if n := len(b.Subscriptions); n > parley.MaxSubscriptionBytes {
		return parley.Refuse(parley.ErrTooLarge, fmt.Sprintf("subscriptions have %d bytes", n), fmt.Sprintf("at most %d", parley.MaxSubscriptionBytes))
	}
	compact, err := fold.Compact(bytes.Clone(b.Subscriptions))
	if err != nil {
		return parley.Refuse(parley.ErrValidationFailed, "subscriptions are not JSON", "selectors")
	}
	if b.Subscriptions = compact; string(compact) == "null" {
		b.Subscriptions = nil
	}
	return nil
}

// checkSubscriber refuses subscriptions of a name that the token of the runner may not speak as: what wakes an agent also decides what it is told.
func checkSubscriber(by *auth.Principal, b *parley.Blueprint) error {
	if b.Subscriptions == nil || by.MaySpeakAs(b.Name) {
		return nil
	}
	return parley.Refuse(parley.ErrForbidden, fmt.Sprintf("subscriptions of %s need a token that may speak as %s", b.Name, b.Name), "such a token, or no subscriptions")
}

// watchableBy are the workspaces that agents of p's runner may watch: none where its token is narrowed to some conversations.
func watchableBy(p *auth.Principal) []string {
	if !p.IsUnrestricted() {
		return nil
	}
	return slices.Clone(p.Workspaces())
}

// checkKind holds what a blueprint is against what it says, and makes its config compact and its own.
func checkKind(b *parley.Blueprint) error {
	switch b.Kind() {
	case parley.AgentTypeDeterministic:
		b.Type = "" // so that it is told in one way
		return withoutConfig(b)
	case parley.AgentTypeFunction, parley.AgentTypeWorkflow:
		if b.ParamsVia != "" || b.Idempotent {
			return parley.Refuse(parley.ErrValidationFailed, "params_via or idempotent with a "+string(b.Type), "neither: they are for commands")
		}
		return withoutConfig(b)
	case parley.AgentTypeAgent:
	default:
		return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("type is %q", policy.Clip(string(b.Type))), "agent, deterministic, function or workflow")
	}
	switch {
	case b.ParamsVia != "" || b.Idempotent:
		return parley.Refuse(parley.ErrValidationFailed, "params_via or idempotent with an LLM agent", "neither: they are for commands")
	case len(b.AgentConfig) > parley.MaxAgentConfigBytes:
		return parley.Refuse(parley.ErrTooLarge, fmt.Sprintf("agent_config has %d bytes", len(b.AgentConfig)), fmt.Sprintf("at most %d", parley.MaxAgentConfigBytes))
	case len(b.AgentConfig) == 0:
		return parley.Refuse(parley.ErrValidationFailed, "there is no agent_config", "an agent config: it is of type agent")
	}
	compact, err := fold.Compact(bytes.Clone(b.AgentConfig))
	if err != nil {
		return parley.Refuse(parley.ErrValidationFailed, "agent_config is not JSON", "an agent config")
	}
	b.AgentConfig = compact
	config, faults := parley.ParseAgentConfig(compact)
	switch {
	case len(faults) > 0:
		return parley.Refuse(parley.ErrValidationFailed, "agent_config: "+told(faults), "a config as docs/blueprint.schema.json says")
	case config.Spawns() && len(b.Name) > parley.MaxSpawnerName:
		return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("the name has %d bytes, and its children are named NAME%s", len(b.Name), parley.ChildSuffix), fmt.Sprintf("at most %d", parley.MaxSpawnerName))
	}
	return nil
}

// withoutConfig is for all that is no LLM agent.
func withoutConfig(b *parley.Blueprint) error {
	if len(b.AgentConfig) > 0 {
		return parley.Refuse(parley.ErrValidationFailed, "agent_config with a "+string(b.Kind())+" agent", "type agent, or no agent_config")
	}
	b.AgentConfig = nil
	return nil
}

// told says the first of faults, and how many more there are.
func told(faults []parley.ValidationError) string {
	const most = 3
	var lines []string
	for _, f := range faults[:min(most, len(faults))] {
		lines = append(lines, policy.Clip(f.Path)+": "+policy.Cut(f.Message, 200))
	}
	text := strings.Join(lines, "; ")
	if more := len(faults) - most; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// checkSchema holds a schema against what is taken, and makes it compact.
func checkSchema(raw *json.RawMessage) error {
	compact, err := fold.Compact(bytes.Clone(*raw))
	if err != nil {
		return parley.Refuse(parley.ErrValidationFailed, "a schema is not JSON", "a JSON Schema")
	}
	*raw = compact
	if len(compact) > parley.MaxAgentSchemaBytes {
		return parley.Refuse(parley.ErrTooLarge, fmt.Sprintf("a schema has %d bytes", len(compact)), fmt.Sprintf("at most %d", parley.MaxAgentSchemaBytes))
	}
	_, err = paramschema.Compile(compact)
	return err
}

func errRunnerTaken(id string) error {
	return parley.Refuse(parley.ErrAlreadyExists, "the runner "+id+" is another participant's", "another executorId")
}

// admits refuses a runner whose id is another participant's, or whose agents would not fit into an answer of listAgents.
func (r *runners) admits(x *runner) error {
	room := r.hub.agents.room()
	r.mu.Lock()
	defer r.mu.Unlock()
	old := r.byID[x.RunnerID]
	if old != nil && old.ParticipantID != x.ParticipantID {
		return errRunnerTaken(x.RunnerID)
	}
	used := r.bytes + x.bytes
	if old != nil {
		used -= old.bytes
	}
	if used > room {
		return parley.Refuse(parley.ErrTooLarge, "the agents no longer fit into one answer", "fewer blueprints, or smaller schemas")
	}
	return nil
}

// knows reports whether a runner has said the very same before.
func (r *runners) knows(record *parley.RunnerRecord) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := r.byID[record.RunnerID]
	if x == nil {
		return false
	}
	now, err := json.Marshal(record)
	before, err2 := json.Marshal(x.RunnerRecord)
	return err == nil && err2 == nil && bytes.Equal(now, before)
}

// found tells by which names the agents of a runner are found.
func (r *runners) found(h *Hub, record *parley.RunnerRecord) parley.RegisterBlueprintsResult {
	taken := h.taken()
	r.mu.Lock()
	defer r.mu.Unlock()
	out := parley.RegisterBlueprintsResult{Agents: []parley.RegisteredBlueprint{}}
	x := r.byID[record.RunnerID]
	for _, b := range record.Blueprints {
		name := b.Name + "@" + record.RunnerID
		if x != nil && x.agents[b.Name] != nil {
			name = r.agentNameLocked(x.agents[b.Name], taken)
		}
		out.Agents = append(out.Agents, parley.RegisteredBlueprint{Name: b.Name, AgentName: name})
	}
	return out
}

// taken tells which names are those of agents that no runner has registered.
func (h *Hub) taken() *names { return &names{own: h.agents.has, executors: h.turns.OwnersByAgent()} }

// leave takes a runner away; its sessions end.
func (r *runners) leave(ref parley.RunnerRef, why string, done func(error)) {
	if !r.has(ref) {
		done(nil)
		return
	}
	r.leaveOn(0, ref, why, done)
}

// leaveOn is leave that is decided, where seq is not 0, on the log that ends there.
func (r *runners) leaveOn(seq int64, ref parley.RunnerRef, why string, done func(error)) {
	r.write(seq, parley.System{Kind: parley.KindRunnerLeft, RunnerRef: &ref, Reason: why}, func(err error) {
		if err == nil {
			r.hub.sessions.QueueOfRunner(ref, false)
			r.hub.triggers.QueueWaiting(false)
		}
		done(err)
	})
}

// write adds an event to the log of runners, where seq is not 0 behind that, and takes it in.
func (r *runners) write(seq int64, sys parley.System, done func(error)) {
	r.hub.conv.PinReserved(runnersConversation, "runners", func(c *conv.Conversation, err error) {
		if err != nil {
			done(err)
			return
		}
		c.Do(&conv.Request{Cmd: fold.Command{Verb: fold.Own, From: parley.HubID, Admin: true, Own: &sys}, Expects: seq, Reply: func(d *fold.Decision, err error) {
			switch {
			case err != nil:
			case r.hub.shared:
				r.hub.conv.Go(func() { done(r.follow()) }) // events of others may come before
				return
			default:
				err = r.take(&d.Events[0].Event)
			}
			done(err)
		}})
	})
}

// room is how many bytes of an answer of listAgents the hub's own agents leave.
func (a *agents) room() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return parley.MaxPageBytes - a.bytes
}

// has reports whether an agent of the hub's own, or of another hub of the journal, has a name.
func (a *agents) has(name string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.named[name] != nil || a.presence.Agent(name) != nil
}

// info gives an agent of the hub's own, or of another hub of the journal.
func (a *agents) info(name string) (parley.AgentInfo, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	i := a.named[name]
	if i == nil {
		i = a.presence.Agent(name)
	}
	if i == nil {
		return parley.AgentInfo{}, false
	}
	return *i, true
}

// sortAgents brings rows into their order.
func sortAgents(list []parley.AgentInfo) {
	slices.SortFunc(list, func(a, b parley.AgentInfo) int { return strings.Compare(a.Name, b.Name) })
}
