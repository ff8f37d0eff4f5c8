package archive

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/internal/limits"
)

// sessionPrefix begins the ids of sessions.
const sessionPrefix = "ses_"

func validSession(id string) bool {
	return strings.HasPrefix(id, sessionPrefix) && parley.ValidConversationID(id)
}

// checkSession refuses the start of a session that no hub writes.
func checkSession(id string, sys *parley.System) error {
	r := sys.Session
	if r == nil {
		return nil
	}
	switch {
	case !validSession(id):
		return fmt.Errorf("a session whose id does not begin with %s", sessionPrefix)
	case !parley.ValidAgentName(r.Agent) || !slices.Contains(parley.AgentTypes, r.Type):
		return fmt.Errorf("a session of %.80q, of type %.80q", r.Agent, r.Type)
	case r.Mode == "" || !r.Mode.Valid() || r.Mode == parley.ModeAsyncCallback && r.Parent == "":
		return fmt.Errorf("a session in mode %.80q", r.Mode)
	case r.Caller != sys.CreatedBy || r.Caller == r.AgentID || len(sys.Participants) != 2 ||
		!seated(sys, r.Caller, parley.KindPeer) || !seated(sys, r.AgentID, parley.KindAgent):
		return errors.New("a session has its caller, a peer, and its agent")
	}
	if err := checkTree(id, r); err != nil {
		return err
	}
	if err := checkRun(r); err != nil {
		return err
	}
	if err := checkStarted(r); err != nil {
		return err
	}
	return check.Labels("demands", r.Demands)
}

func seated(sys *parley.System, id string, kind parley.ParticipantKind) bool {
	return slices.ContainsFunc(sys.Participants, func(p parley.Participant) bool { return p.ID == id && p.Kind == kind })
}

// checkTree checks the place of a session in its tree.
func checkTree(id string, r *parley.SessionRecord) error {
	switch {
	case r.Parent == "" && r.Root == id && r.Depth == 1:
		return nil
	case parley.ValidConversationID(r.Parent) && parley.ValidConversationID(r.Root) && r.Root != id && r.Parent != id &&
		r.Depth >= 1 && r.Depth <= limits.MaxSessionDepth:
		return nil
	}
	return fmt.Errorf("a session of parent %.80q, root %.80q, depth %d", r.Parent, r.Root, r.Depth)
}

// checkRun checks the fields of a session that depend on its type.
func checkRun(r *parley.SessionRecord) error {
	switch {
	case r.Deterministic() && (r.TimeoutMs < limits.MinDurationMs || r.TimeoutMs > limits.MaxSessionTimeoutMs),
		!r.Deterministic() && r.TimeoutMs != 0:
		return fmt.Errorf("a session of type %s with timeoutMs %d", r.Type, r.TimeoutMs)
	case r.Hosted && r.Deterministic():
		return fmt.Errorf("a session of type %s that is hosted", r.Type)
	case r.Runner == nil:
		return nil
	case !r.OfRunner():
		return fmt.Errorf("a session of type %s that belongs to a runner", r.Type)
	}
	return checkRunnerRef(r.Runner)
}

func checkRunnerRef(r *parley.RunnerRef) error {
	if !parley.ValidParticipantID(r.RunnerID) || !parley.ValidParticipantID(r.ParticipantID) {
		return fmt.Errorf("the runner %.80q of %.80q", r.RunnerID, r.ParticipantID)
	}
	return nil
}

// checkChild refuses an event about a session, in the log of its parent or in its own, that no hub
// writes on s, the state before it. The fold checks which sessions run.
func checkChild(s *fold.State, sys *parley.System) error {
	switch {
	case sys.Kind == parley.KindSessionBound:
		if !s.Session.OfRunner() || sys.RunnerRef == nil {
			return errors.New("session_bound where no runner is waited for")
		}
		return checkRunnerRef(sys.RunnerRef)
	case !validSession(sys.SessionID) || sys.SessionID == s.ID:
		return fmt.Errorf("%s of %.80q", sys.Kind, sys.SessionID)
	case sys.Kind == parley.KindSessionEnded:
		if !sys.Status.Ended() {
			return fmt.Errorf("session_ended with status %.80q", sys.Status)
		}
	case s.MatchIndex(sys.SessionID) >= 0:
		return checkStartOf(&s.Matches[s.MatchIndex(sys.SessionID)], sys)
	case !s.HasParticipant(sys.AgentID):
		return fmt.Errorf("a session of %.80q, which does not take part in the conversation", sys.AgentID)
	case !parley.ValidAgentName(sys.Agent) || sys.Mode == "" || !sys.Mode.Valid():
		return fmt.Errorf("a session of %.80q in mode %.80q", sys.Agent, sys.Mode)
	case sys.Mode == parley.ModeAsyncCallback && s.Session.Deterministic():
		return errors.New("a callback to a deterministic agent")
	}
	return nil
}

// checkSessionTurn refuses an event of turns that cannot be in a session; r is nil elsewhere.
func checkSessionTurn(r *parley.SessionRecord, sys *parley.System) error {
	switch {
	case !r.OfRunner():
		return nil
	case sys.Kind == parley.KindTurnClaimed && sys.AgentID == r.AgentID &&
		(r.Runner == nil || sys.ExecutorID != r.Runner.RunnerID):
		return fmt.Errorf("a claim by %.80q, whose session it is not", sys.ExecutorID)
	case !r.Deterministic():
		return nil
	case sys.Kind == parley.KindTurnEnded, sys.Kind == parley.KindTurnReoffered:
		return fmt.Errorf("%s in the session of a deterministic agent", sys.Kind)
	}
	return nil
}

// checkInSession refuses a message that does not fit the type of its conversation; s is the state
// before it.
func checkInSession(s *fold.State, e *parley.Event, speech *check.Speech) error {
	if e.From == parley.HubID {
		if speech.Parameters || speech.Result != (s.Session != nil) {
			return fmt.Errorf("what %s says at the end of a session, and only there, has a result", parley.HubID)
		}
		return nil
	}
	if s.Session.OfRunner() && e.From == s.Session.AgentID && s.Claim == nil {
		return errors.New("an agent of a runner that speaks without a claim")
	}
	return s.CheckSession(e.From, e.Finality, speech.Parameters, speech.Result)
}

// checkCallback refuses a message of the hub that ends a turn and is not a valid callback; s is the
// state before it. The fold checks that the sessions ended and were not reported before.
func checkCallback(s *fold.State, e *parley.Event) error {
	if e.Finality != parley.FinalityTurn || !s.AtBoundary() {
		return fmt.Errorf("a message of %s that neither closes the conversation nor calls back between two turns", parley.HubID)
	}
	m, err := e.Message()
	if err != nil {
		return err
	}
	var told parley.Callbacks
	if err := json.Unmarshal(m.Data, &told); err != nil {
		return fmt.Errorf("callbacks: %w", err)
	}
	if m.Parameters != nil || m.Result != nil || e.Outcome != nil || e.TurnHint != nil {
		return errors.New("a callback with more than that")
	}
	by, hops := s.CallbackRecipient(), 0
	for _, c := range told.Callbacks {
		i := slices.IndexFunc(s.Callbacks, func(p fold.EndedChild) bool { return p.ID == c.ChildSessionID })
		if i < 0 || s.Callbacks[i].By != by || s.Callbacks[i].Agent != c.AgentName || s.Callbacks[i].Status != c.Status {
			return fmt.Errorf("a callback of %.80q that is not what its session_ended says", c.ChildSessionID)
		}
		if c.CallbackType != parley.CallbackChildCompleted || c.Result == nil {
			return fmt.Errorf("a callback of type %.80q, or without a result", c.CallbackType)
		}
		hops = max(hops, s.Callbacks[i].Hops)
	}
	return checkCarries(e, nil, hops)
}

// checkRunnerKind refuses events that are not about a runner.
func checkRunnerKind(sys *parley.System) error {
	switch {
	case sys.Kind == parley.KindRunnerLeft && sys.RunnerRef != nil:
		return checkRunnerRef(sys.RunnerRef)
	case sys.Kind == parley.KindRunnerRegistered && sys.RunnerRecord != nil:
		return checkRunner(sys.RunnerRecord)
	}
	return fmt.Errorf("%s does not belong in %s", sys.Kind, runnersConversation)
}

// checkBlueprint checks the fields of a blueprint that depend on its type. The hub checks its
// config and subscriptions when it starts, like its schemas.
func checkBlueprint(b *parley.Blueprint) error {
	switch k := b.Kind(); {
	case !slices.Contains(parley.AgentTypes, k):
		return fmt.Errorf("blueprint %s: type %.80q", b.Name, k)
	case k != parley.AgentTypeDeterministic && (b.ParamsVia != "" || b.Idempotent):
		return fmt.Errorf("blueprint %s: of type %s, with params_via or idempotent", b.Name, k)
	case len(b.Subscriptions) > limits.MaxSubscriptionBytes:
		return fmt.Errorf("blueprint %s: subscriptions of %d bytes", b.Name, len(b.Subscriptions))
	case (k == parley.AgentTypeAgent) != (len(b.AgentConfig) > 0):
		return fmt.Errorf("blueprint %s: of type %s, with %d bytes of agent_config", b.Name, k, len(b.AgentConfig))
	}
	return nil
}

// checkRunner checks the record of a runner. The hub compiles its schemas when it starts, and drops
// a runner whose schemas it does not accept.
func checkRunner(r *parley.RunnerRecord) error {
	if err := checkRunnerRef(&r.RunnerRef); err != nil {
		return err
	}
	if n := len(r.Blueprints); n < 1 || n > limits.MaxBlueprints {
		return fmt.Errorf("a runner with %d blueprints", n)
	}
	seen := map[string]bool{}
	for i := range r.Blueprints {
		b := &r.Blueprints[i]
		if !parley.ValidParticipantID(b.Name) || seen[b.Name] {
			return fmt.Errorf("blueprint %.80q: no name of an agent, or there twice", b.Name)
		}
		seen[b.Name] = true
		if err := checkBlueprint(b); err != nil {
			return err
		}
		if !b.ParamsVia.Valid() || b.TimeoutMs < 0 || b.TimeoutMs > limits.MaxSessionTimeoutMs ||
			len(b.ParametersSchema) == 0 {
			return fmt.Errorf("blueprint %s: params_via %.80q, timeout_ms %d", b.Name, b.ParamsVia, b.TimeoutMs)
		}
		if err := check.Labels("labels", b.Labels); err != nil {
			return err
		}
	}
	if err := checkWatched(r.Workspaces); err != nil {
		return err
	}
	return check.Labels("labels", r.Labels)
}
