package hub

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/parleyhub/parley/hub/internal/agentcontext"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/registry"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// explaining is one dry-run: an event, what the log says that it has woken, and the conversation as it stands now.
//
//	event -> matches in the log, and what has become of them -> seats -> watchers of the workspace -> for each: every selector, and the context
type explaining struct {
	hub   *Hub
	by    *auth.Principal
	state *fold.State
	event *parley.Event
	said  *said
	wakes []parley.Wake
	turns map[string]parley.TriggerState // of matches whose turns have ended, by participant

	deadline time.Time // for the contexts of all rows together, each of which may cost as much as a call
}

// ExplainTriggers tells which agents an event has woken or, as things are now, would wake, and why. It changes nothing.
func (h *Hub) ExplainTriggers(ctx context.Context, p *auth.Principal, q *parley.ExplainTriggersParams) (*parley.ExplainTriggersResult, error) {
	return auth.CallFresh(ctx, h.auth, func() (*parley.ExplainTriggersResult, error) { return h.explainTriggers(ctx, p, q) })
}

func (h *Hub) explainTriggers(ctx context.Context, p *auth.Principal, q *parley.ExplainTriggersParams) (*parley.ExplainTriggersResult, error) {
	p = p.In(q.ConversationID)
	c, err := h.auth.Enter(p, parley.MethodExplainTriggers, q.ConversationID)
	if err != nil {
		return nil, err
	}
	defer h.conv.Unpin(c)
	s := c.Durable()
	if q.Seq < 1 || q.Seq > s.Seq {
		return nil, parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("seq is %d", q.Seq), fmt.Sprintf("1 to %d", s.Seq))
	}
	x := &explaining{hub: h, by: p, state: &s}
	if err := x.read(ctx, q.Seq); err != nil {
		return nil, err
	}
	x.deadline = time.Now().Add(agentcontext.FetchTimeout)
	out := &parley.ExplainTriggersResult{Seq: q.Seq, Agents: []parley.TriggerExplained{}}
	for _, seat := range s.Participants {
		if seat.Kind.Claims() {
			row, err := x.seat(ctx, seat)
			if err != nil {
				return nil, err
			}
			out.Agents = append(out.Agents, row)
		}
	}
	for _, name := range x.watchers() {
		if len(out.Agents) == parley.MaxExplained {
			out.More++
			continue
		}
		row, err := x.watcher(ctx, name)
		if err != nil {
			return nil, err
		}
		out.Agents = append(out.Agents, row)
	}
	return out, nil
}

// read reads the event and what the log says of it.
func (x *explaining) read(ctx context.Context, seq int64) (err error) {
	if x.event, err = x.hub.eventAt(x.state.ID, seq); err != nil {
		return err
	}
	if x.said, err = saidBy(x.event); err != nil {
		return err
	}
	if x.said == nil || !x.said.note && x.state.IsWithdrawn(seq) || conv.Reserved(x.state.ID) {
		return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("event %d wakes nobody", seq), "a note, or a message of a participant that ends a turn")
	}
	if seq == x.state.Seq {
		return nil
	}
	next, err := x.hub.eventAt(x.state.ID, seq+1)
	if err != nil {
		return err
	}
	if next.Type != parley.TypeSystem {
		return nil
	}
	sys, err := next.System()
	if err != nil || sys.Kind != parley.KindTriggerMatched || sys.Trigger == nil || sys.Trigger.Seq != seq {
		return err
	}
	x.wakes = sys.Trigger.Wakes
	x.turns, err = x.hub.turnsOver(ctx, x.state, seq, x.wakes)
	return err
}

// woken gives what the log says of an agent; nil where the event has not matched it.
func (x *explaining) woken(id string, workspace bool) *parley.Wake {
	i := slices.IndexFunc(x.wakes, func(w parley.Wake) bool { return w.AgentID == id && w.Workspace == workspace })
	if i < 0 {
		return nil
	}
	return &x.wakes[i]
}

// seat is the row of an agent that takes part.
func (x *explaining) seat(ctx context.Context, seat parley.Participant) (parley.TriggerExplained, error) {
	name := fold.AgentName(seat)
	b := x.hub.triggers.seated(name)
	row := parley.TriggerExplained{Agent: name, AgentID: seat.ID, Selectors: []parley.SelectorTried{}}
	if b == nil {
		row.Because = name + " has no subscriptions."
		return x.fill(ctx, row, nil, x.woken(seat.ID, false))
	}
	row.Selectors = x.tried(b, func(workspace bool) string {
		if workspace && !grants(b, x.state.Workspace) {
			return "it looks at the workspace, which the runner of the agent was not granted for this conversation"
		}
		return ""
	})
	i := wakesSeated(b, &x.said.Event, x.state.Workspace)
	switch {
	case i < 0:
		row.Because = "No trigger of it matches the event."
	case x.never() != "":
		row.Because = x.never()
	case x.said.from == seat.ID && !b.Selectors.Subscriptions.IncludeSelf:
		row.Because = "These are its own words, and it does not ask for them by include_self."
	case !x.said.note && x.state.Policy.Kind != parley.PolicyTriggers:
		row.Because = fmt.Sprintf("The policy %s says who has the floor: messages wake those that take part under the policy triggers alone.", x.state.Policy.Kind)
	default:
		row.WouldWake = true
		row.Because = fmt.Sprintf("Selector %d, a trigger, matches the event.", i)
	}
	return x.fill(ctx, row, b, x.woken(seat.ID, false))
}

// never says why the event wakes nobody, whatever selectors say; empty where it may.
func (x *explaining) never() string {
	switch limit := x.state.Limits.Hops(); {
	case x.state.Session != nil:
		return "In the conversation of a session nobody is woken."
	case x.state.Closed():
		return "The conversation is closed."
	case x.event.Hops+1 > limit:
		return fmt.Sprintf("It would be wake %d of a chain, and limits.maxHops is %d.", x.event.Hops+1, limit)
	}
	return ""
}

// watchers gives the agents that watch the workspace and do not take part, by name.
func (x *explaining) watchers() []string {
	if x.state.Workspace == "" || x.state.Session != nil {
		return nil
	}
	t := x.hub.triggers
	t.mu.RLock()
	defer t.mu.RUnlock()
	names := make(map[string]bool)
	for _, w := range x.wakes {
		if w.Workspace {
			names[w.AgentID] = true // also where it does not watch any more
		}
	}
	for name := range t.watches {
		if t.watcherLocked(name, x.state.Workspace) != nil && !takesPart(x.state, name) {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// takesPart reports whether an agent has a seat.
func takesPart(s *fold.State, name string) bool {
	return slices.ContainsFunc(s.Participants, func(p parley.Participant) bool { return p.Kind.Claims() && fold.AgentName(p) == name })
}

// watcher is the row of an agent that watches the workspace.
func (x *explaining) watcher(ctx context.Context, name string) (parley.TriggerExplained, error) {
	b := x.hub.triggers.watcher(name, x.state.Workspace)
	row := parley.TriggerExplained{Agent: name, AgentID: name, Workspace: true, Selectors: []parley.SelectorTried{}}
	if b == nil {
		row.Because = name + " does not watch the workspace any more."
		return x.fill(ctx, row, nil, x.woken(name, true))
	}
	row.Selectors = x.tried(b, func(workspace bool) string {
		if !workspace {
			return "it looks at conversations in which the agent takes part"
		}
		return ""
	})
	i := b.Selectors.Wakes(&x.said.Event, true)
	switch {
	case i < 0:
		row.Because = "No trigger of it that looks at the workspace matches the event."
	case x.never() != "":
		row.Because = x.never()
	case sits(x.state, name):
		row.Because = "Another participant is called " + name + ", so that the agent could not be told from it."
	case x.said.from == name && !b.Selectors.Subscriptions.IncludeSelf:
		row.Because = "These are its own words, and it does not ask for them by include_self."
	default:
		row.WouldWake = true
		row.Because = fmt.Sprintf("Selector %d, a trigger that looks at the workspace, matches the event.", i)
	}
	return x.fill(ctx, row, b, x.woken(name, true))
}

// tried is how every selector of an agent sees the event; out says why those of a scope are not asked, and nothing where they are.
func (x *explaining) tried(b *registry.Blueprint, out func(workspace bool) string) []parley.SelectorTried {
	all := b.Selectors.Subscriptions.Selectors
	tried := make([]parley.SelectorTried, len(all))
	for i := range all {
		one := parley.SelectorTried{Selector: i, Role: parley.RoleTrigger}
		if !all[i].Trigger() {
			one.Role = parley.RoleContext
		}
		one.Matched, one.Because = b.Selectors.Why(i, &x.said.Event)
		if why := out(all[i].Workspace()); why != "" && all[i].Trigger() {
			one.Matched, one.Because = false, why
		}
		tried[i] = one
	}
	return tried
}

// grantsAll reports whether p's token grants every one of some workspaces: a selector looks at all that its runner was granted.
func grantsAll(p *auth.Principal, workspaces []string) bool {
	return !slices.ContainsFunc(workspaces, func(w string) bool { return !p.Grants(w) })
}

// fill adds to a row what the log says, and the context of an agent that was or would be woken.
func (x *explaining) fill(ctx context.Context, row parley.TriggerExplained, b *registry.Blueprint, w *parley.Wake) (parley.TriggerExplained, error) {
	if w != nil {
		row.Woken, row.SessionID = w.Stopped == "", w.SessionID
		var err error
		if row.State, row.Because, err = x.became(w); err != nil {
			return row, err
		}
	}
	if b == nil || !row.Woken && !row.WouldWake {
		return row, nil
	}
	var err error
	row.Context, err = x.context(ctx, b, &row, w)
	return row, err
}

// context is what the context selectors of an agent would bring now, as far as the caller may see it.
func (x *explaining) context(ctx context.Context, b *registry.Blueprint, row *parley.TriggerExplained, w *parley.Wake) ([]parley.ContextSource, error) {
	given := parley.SessionTrigger{Seq: x.event.Seq, Workspace: row.Workspace, Selector: wakesSeated(b, &x.said.Event, x.state.Workspace)}
	switch {
	case w != nil:
		given.Selector = w.Selector
	case row.Workspace:
		given.Selector = b.Selectors.Wakes(&x.said.Event, true)
	}
	return x.hub.contexts.FetchSources(ctx, x.deadline, &agentcontext.Query{
		Agent: contextAgent(b), AgentID: row.AgentID, ConversationID: x.state.ID, QuestionID: x.state.ID,
		Triggers: []parley.SessionTrigger{given}, Reaches: x.by.Reaches, SkipWorkspaces: !grantsAll(x.by, b.Runner.Workspaces),
	})
}
