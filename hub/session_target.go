package hub

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/internal/registry"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/arguments"
	"github.com/parleyhub/parley/internal/paramschema"
)

// target is the agent that a session is started of.
type target struct {
	name       string
	kind       parley.AgentType
	schema     *paramschema.Schema
	runner     *parley.RunnerRef // whose it is; nil for an agent of executors, and where no runner meets the demands
	blueprint  *registry.Blueprint
	timeoutMs  int64 // of a command
	maxClaimMs int64 // of an agent that is no command; 0, the usual
	idempotent bool
	hosted     bool // an agent of a runner that is no command
}

// findAgent finds the agent of a name: one that the hub's process has registered, else one that executors run, whose tokens speak as that, else that of a
// runner, which may call its agents as it likes. What an agent of executors takes one of them may have said, by a blueprint of that name.
func (h *Hub) findAgent(name string, demands map[string]string) (*target, error) {
	plain, runnerID, at := strings.Cut(name, "@")
	if info := h.registry.HubAgent(name); info != nil && !at {
		return agentTarget(name, info.ParametersSchema)
	}
	if !at && h.turns.HasExecutor(name) {
		switch b := h.registry.OfExecutors(name); {
		case b == nil:
			return agentTarget(name, nil)
		case !b.IsCommand():
			return &target{name: name, kind: b.Kind(), schema: b.Parameters, maxClaimMs: b.MaxClaimMs()}, nil
		} // a command is run by a runner, also where it sits in conversations
	}
	if b, met := h.registry.Find(plain, runnerID, demands); b != nil {
		return targetOf(b, name, met), nil
	}
	return nil, parley.Refuse(parley.ErrNotFound, fmt.Sprintf("there is no agent %s", policy.Clip(name)), "a name that listAgents gives")
}

// targetOf is the agent of a blueprint; met says that its runner is the one that is to run it.
func targetOf(b *registry.Blueprint, name string, met bool) *target {
	t := &target{name: name, kind: b.Kind(), schema: b.Parameters, blueprint: b, hosted: !b.IsCommand(), timeoutMs: b.TimeoutMs, maxClaimMs: b.MaxClaimMs()}
	switch {
	case t.hosted:
		t.timeoutMs = 0 // its agent keeps to it
	case t.timeoutMs == 0:
		t.timeoutMs = parley.DefaultSessionTimeoutMs
	}
	if met {
		t.runner, t.idempotent = &b.Runner.RunnerRef, b.Idempotent // the one that comes late may not be
	}
	return t
}

func agentTarget(name string, schema json.RawMessage) (*target, error) {
	t := &target{name: name, kind: parley.AgentTypeAgent, schema: paramschema.Prompt()}
	if len(schema) == 0 {
		return t, nil
	}
	var err error
	t.schema, err = paramschema.Compile(schema)
	return t, err
}

// seat is the participant that sits in the session for it.
func (t *target) seat(caller string) string { return agentSeat(t.name, caller) }

// sits is the agent of that seat, where it has another name.
func (t *target) sits(seat string) string {
	if plain := plainName(t.name); plain != seat {
		return plain
	}
	return ""
}

// accept gives parameters with the defaults of the schema, or says all that is wrong with them.
func (t *target) accept(parameters json.RawMessage) (json.RawMessage, error) {
	full, err := t.schema.Fill(parameters)
	if err != nil {
		return nil, err
	}
	faults, err := t.schema.Validate(full)
	if err != nil {
		return nil, err
	}
	if len(faults) == 0 && t.blueprint != nil {
		if faults, err = fits(t.blueprint, full); err != nil {
			return nil, err
		}
	}
	if len(faults) > 0 {
		return nil, &parley.Error{
			Err: parley.ErrParameters, Message: "Parameters do not match agent's parameters_schema",
			Validation: &parley.ValidationFailure{AgentName: t.name, ValidationErrors: faults, ParametersSchema: t.schema.Raw()},
		}
	}
	return full, nil
}

// fits gives the parameters that could not be given to the command as they are.
func fits(b *registry.Blueprint, parameters json.RawMessage) ([]parley.ValidationError, error) {
	if !b.IsCommand() {
		return nil, nil
	}
	_, faults, err := arguments.Give(b.ParamsVia, b.Parameters.Properties(), parameters)
	return faults, err
}

// takes reports whether a blueprint takes the parameters with which a session was started.
func (h *Hub) takes(b *registry.Blueprint, s *fold.State) bool {
	c, err := h.conv.Pin(s.ID)
	if err != nil {
		return false
	}
	defer h.conv.Unpin(c)
	page, err := c.Page(s.MessageSeq-1, s.MessageSeq, 1, func(int64, fold.Meta) bool { return true })
	if err != nil || len(page.Events) == 0 {
		return false
	}
	var e parley.Event
	if e.UnmarshalJSON(page.Events[0]) != nil {
		return false
	}
	m, err := e.Message()
	if err != nil {
		return false
	}
	faults, err := b.Parameters.Validate(m.Parameters)
	if err != nil || len(faults) > 0 {
		return false
	}
	faults, err = fits(b, m.Parameters)
	return err == nil && len(faults) == 0
}
