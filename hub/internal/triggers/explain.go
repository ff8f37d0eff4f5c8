package triggers

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/internal/agentcontext"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/page"
	"github.com/parleyhub/parley/hub/internal/registry"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/methods"
)

// contextTimeout bounds the time for the contexts of all agents of one call together.
const contextTimeout = 30 * time.Second

// explanation is one dry run.
//
//	event -> matches in the log, and their outcomes -> seats -> watchers of the workspace
//	      -> for each: every selector, and the context
type explanation struct {
	service  *Service
	by       *auth.Principal
	state    *fold.State
	logged   *parley.Event
	event    *event
	wakes    []parley.Wake                  // that the log has for the event
	ended    map[string]parley.TriggerState // of the turns of wakes, by participant
	deadline time.Time                      // for all contexts
}

// Explain returns the agents that an event triggered or would trigger now, and why. It changes nothing.
func (s *Service) Explain(
	ctx context.Context, p *auth.Principal, q *parley.ExplainTriggersParams,
) (*parley.ExplainTriggersResult, error) {
	p = p.In(q.ConversationID)
	c, err := s.opts.Auth.Enter(p, methods.ExplainTriggers, q.ConversationID)
	if err != nil {
		return nil, err
	}
	defer s.engine.Unpin(c)
	state := c.Durable()
	if q.Seq < 1 || q.Seq > state.Seq {
		return nil, page.Invalid(fmt.Sprintf("1 to %d", state.Seq), "seq is %d", q.Seq)
	}
	x := &explanation{service: s, by: p, state: &state}
	if err := x.read(ctx, q.Seq); err != nil {
		return nil, err
	}
	x.deadline = time.Now().Add(contextTimeout)
	out := &parley.ExplainTriggersResult{Seq: q.Seq, Agents: []parley.TriggerExplained{}}
	for _, seat := range state.Participants {
		if !seat.Kind.Claims() {
			continue
		}
		row, err := x.explain(ctx, fold.AgentName(seat), seat.ID, false)
		if err != nil {
			return nil, err
		}
		out.Agents = append(out.Agents, row)
	}
	for _, name := range x.watchers() {
		if len(out.Agents) == limits.MaxExplained {
			out.More++
			continue
		}
		row, err := x.explain(ctx, name, name, true)
		if err != nil {
			return nil, err
		}
		out.Agents = append(out.Agents, row)
	}
	return out, nil
}

// read reads the event, and the matches that the log has for it.
func (x *explanation) read(ctx context.Context, seq int64) (err error) {
	if x.logged, err = x.service.engine.EventAt(x.state.ID, seq); err != nil {
		return err
	}
	if x.event, err = eventOfLog(x.logged); err != nil {
		return err
	}
	if x.event == nil || !x.event.isNote && x.state.IsWithdrawn(seq) || conv.Reserved(x.state.ID) {
		return page.Invalid("a note, or a message of a participant that ends a turn", "event %d cannot trigger an agent", seq)
	}
	if seq == x.state.Seq {
		return nil
	}
	next, err := x.service.engine.EventAt(x.state.ID, seq+1)
	if err != nil || next.Type != parley.TypeSystem {
		return err
	}
	sys, err := next.System()
	if err != nil || sys.Kind != parley.KindTriggerMatched || sys.Trigger == nil || sys.Trigger.Seq != seq {
		return err
	}
	x.wakes = sys.Trigger.Wakes
	x.ended, err = x.readEndedTurns(ctx)
	return err
}

// watchers returns the names of the agents that watch the workspace and have no seat, in order. It
// includes those that the event triggered and that do not watch it any more.
func (x *explanation) watchers() []string {
	if x.state.Workspace == "" || x.state.Session != nil {
		return nil
	}
	names := make(map[string]bool)
	for _, w := range x.wakes {
		if w.Workspace {
			names[w.AgentID] = true
		}
	}
	s := x.service
	s.mu.RLock()
	defer s.mu.RUnlock()
	for name := range s.watches {
		if s.findWatcherLocked(name, x.state.Workspace) != nil && !hasSeat(x.state, name) {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// explain returns the row of an agent: of a seat or, if workspace, of one that watches the workspace.
func (x *explanation) explain(
	ctx context.Context, name, id string, workspace bool,
) (row parley.TriggerExplained, err error) {
	row = parley.TriggerExplained{Agent: name, AgentID: id, Workspace: workspace, Selectors: []parley.SelectorTried{}}
	a, i := x.service.FindSeated(name), -1
	if workspace {
		a = x.service.findWatcher(name, x.state.Workspace)
	}
	switch {
	case a != nil:
		row.Selectors = x.trySelectors(a, workspace)
		i, row.WouldWake, row.Because = x.matchNow(a, name, id, workspace)
	case workspace:
		row.Because = name + " does not watch the workspace any more."
	default:
		row.Because = name + " has no subscriptions."
	}
	if n := slices.IndexFunc(x.wakes, func(w parley.Wake) bool {
		return w.AgentID == id && w.Workspace == workspace
	}); n >= 0 {
		w := &x.wakes[n]
		i, row.Woken, row.SessionID = w.Selector, w.Stopped == "", w.SessionID
		if row.State, row.Because, err = x.outcome(w); err != nil {
			return row, err
		}
	}
	if a != nil && (row.Woken || row.WouldWake) {
		ungranted := slices.ContainsFunc(a.Runner.Workspaces, func(w string) bool { return !x.by.Grants(w) })
		row.Context, err = x.service.opts.Contexts.FetchSources(ctx, x.deadline, &agentcontext.Query{
			Agent: agentcontext.AgentOf(a), AgentID: id, ConversationID: x.state.ID, QuestionID: x.state.ID,
			Triggers: []parley.SessionTrigger{{Seq: x.logged.Seq, Workspace: workspace, Selector: i}},
			Reaches:  x.by.Reaches, SkipWorkspaces: ungranted,
		})
	}
	return row, err
}

// matchNow returns the first trigger of an agent that matches the event, or -1, whether the event would
// trigger the agent now, and why.
func (x *explanation) matchNow(
	a *registry.Blueprint, name, id string, workspace bool,
) (i int, would bool, because string) {
	i, scope := matchSeated(a, &x.event.Event, x.state.Workspace), ""
	if workspace {
		i, scope = a.Selectors.Wakes(&x.event.Event, true), " that looks at the workspace"
	}
	if i < 0 {
		return i, false, "No trigger of it" + scope + " matches the event."
	}
	if because = x.whyNot(a, name, id, workspace); because != "" {
		return i, false, because
	}
	return i, true, fmt.Sprintf("Selector %d, a trigger%s, matches the event.", i, scope)
}

// whyNot returns why the event does not trigger an agent with a selector that matches; empty if it does.
func (x *explanation) whyNot(a *registry.Blueprint, name, id string, workspace bool) string {
	switch limit := x.state.Limits.Hops(); {
	case x.state.Session != nil:
		return "Events in the conversation of a session trigger no agents."
	case x.state.Closed():
		return "The conversation is closed."
	case x.logged.Hops+1 > limit:
		return fmt.Sprintf("It would be wake %d of a chain, and limits.maxHops is %d.", x.logged.Hops+1, limit)
	case workspace && isTaken(x.state, name):
		return "Another participant is called " + name + ", so the agent would be confused with it."
	case x.event.from == id && !a.Selectors.Subscriptions.IncludeSelf:
		return "These are its own words, and it does not ask for them by include_self."
	case !workspace && !x.event.isNote && x.state.Policy.Kind != parley.PolicyTriggers:
		return fmt.Sprintf("The policy %s says who has the floor: messages wake those that take part under the policy "+
			"triggers alone.", x.state.Policy.Kind)
	}
	return ""
}

// trySelectors returns how each selector of an agent sees the event. Triggers of the wrong scope see
// nothing.
func (x *explanation) trySelectors(a *registry.Blueprint, workspace bool) []parley.SelectorTried {
	all := a.Selectors.Subscriptions.Selectors
	tried := make([]parley.SelectorTried, len(all))
	for i := range all {
		t := &tried[i]
		t.Selector, t.Role = i, parley.RoleTrigger
		t.Matched, t.Because = a.Selectors.Why(i, &x.event.Event)
		switch {
		case !all[i].Trigger():
			t.Role = parley.RoleContext
		case workspace && !all[i].Workspace():
			t.Matched, t.Because = false, "it looks at conversations in which the agent takes part"
		case !workspace && all[i].Workspace() && !isGranted(a, x.state.Workspace):
			t.Matched, t.Because = false,
				"it looks at the workspace, which the runner of the agent was not granted for this conversation"
		}
	}
	return tried
}

// outcome returns the state of a match, in a word and in a sentence.
func (x *explanation) outcome(w *parley.Wake) (state parley.TriggerState, because string, err error) {
	state, because = parley.TriggerStopped, fmt.Sprintf("Selector %d, a trigger, has matched the event", w.Selector)
	switch w.Stopped {
	case "":
		var then string
		if w.SessionID == "" {
			state, then = x.turnOutcome(w)
		} else {
			state, then, err = x.sessionOutcome(w)
		}
		because += ": " + then
	case parley.StoppedMaxHops:
		because += fmt.Sprintf(", but limits.maxHops, %d, does not let it wake.", x.state.Limits.Hops())
	case parley.StoppedMaxWakes:
		because += fmt.Sprintf(", but limits.maxWakesPerMinute, %d, does not let it wake.", x.state.Limits.WakesPerMinute())
	default:
		because += ", but too many matches waited already."
	}
	return state, because, err
}

func (x *explanation) turnOutcome(w *parley.Wake) (parley.TriggerState, string) {
	s, ended := x.state, x.ended[w.AgentID]
	waits := slices.ContainsFunc(s.Matches, func(o fold.Match) bool {
		return o.Seq == x.logged.Seq && o.AgentID == w.AgentID
	})
	switch {
	case ended == parley.TriggerFinished:
		return ended, "a turn that was given it has finished."
	case !waits && s.Closed() && ended == "":
		return parley.TriggerEnded, "the conversation was closed before its turn."
	case !waits:
		return parley.TriggerEnded,
			"the turn that was given it has ended without a message (" + parley.TriggerInterrupted + ")."
	case s.Claim != nil && s.Claim.AgentID == w.AgentID && s.Claim.UpTo >= x.logged.Seq,
		s.Claim == nil && s.Open && s.Owner == w.AgentID:
		return parley.TriggerRunning, "the turn that was given it is under way."
	}
	return parley.TriggerPending, "it waits for a turn."
}

func (x *explanation) sessionOutcome(w *parley.Wake) (parley.TriggerState, string, error) {
	child, err := x.service.engine.StateOf(w.SessionID)
	if err != nil {
		return "", "", err
	}
	if !child.Exists() {
		if x.state.MatchIndex(w.SessionID) >= 0 {
			return parley.TriggerPending, "it waits for its session to begin.", nil
		}
		return parley.TriggerEnded, "its session could not be started (" + parley.TriggerNotStarted + ").", nil
	}
	status := child.SessionStatus()
	switch {
	case !child.Closed() && status == parley.SessionPending:
		return parley.TriggerPending, "its session waits for its runner.", nil
	case !child.Closed():
		return parley.TriggerRunning, "its session runs.", nil
	}
	because := fmt.Sprintf("its session has ended (%s).", status)
	if status == parley.SessionStopped {
		return parley.TriggerEnded, because, nil
	}
	return parley.TriggerFinished, because, nil
}

// readEndedTurns returns how the turns ended that got the event, by participant. It reads the log from
// the event on, until all are found.
func (x *explanation) readEndedTurns(ctx context.Context) (map[string]parley.TriggerState, error) {
	s, seq := x.state, x.logged.Seq
	open := make(map[string]bool)
	for _, w := range x.wakes {
		if w.SessionID == "" && w.Stopped == "" {
			open[w.AgentID] = true
		}
	}
	for _, w := range s.Matches {
		if w.Seq == seq {
			delete(open, w.AgentID) // its turn is not over
		}
	}
	ended := make(map[string]parley.TriggerState)
	var claim parley.System // the current claim, or zero
	for e, err := range x.service.engine.History(s.ID, seq) {
		if err = cmp.Or(err, ctx.Err()); err != nil {
			return nil, err
		}
		if len(open) == 0 || e.Seq > s.Seq {
			break
		}
		agentID, how, err := turnEnd(e, &claim)
		if err != nil {
			return nil, err
		}
		if how == "" {
			continue
		}
		if open[agentID] && (claim.AgentID != agentID || claim.UpTo >= seq) { // the turn got the event
			ended[agentID] = how
			delete(open, agentID)
		}
		claim.AgentID = ""
	}
	return ended, nil
}

// turnEnd returns whose turn an event ends, and how; how is empty if it ends none. It updates the claim.
func turnEnd(e *parley.Event, claim *parley.System) (agentID string, how parley.TriggerState, err error) {
	if e.Type == parley.TypeMessage && e.Finality.Final() && e.From != parley.HubID {
		return e.From, parley.TriggerFinished, nil
	}
	if e.Type != parley.TypeSystem {
		return "", "", nil
	}
	sys, err := e.System()
	if err != nil {
		return "", "", err
	}
	switch sys.Kind {
	case parley.KindTurnClaimed:
		*claim = sys
	case parley.KindClaimEnded:
		claim.AgentID = ""
	case parley.KindTurnEnded:
		return sys.AgentID, parley.TriggerEnded, nil
	}
	return "", "", nil
}
