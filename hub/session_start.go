package hub

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/policy"
)

// starting is one startSession on its way. It is the one way in which sessions begin.
//
//	params -> caller, parent -> met before? -> agent -> parameters -> place in the tree -> session (one batch) -> parent's log -> wait
type starting struct {
	hub    *Hub
	by     *auth.Principal // in the parent, where there is one
	params *parley.StartSessionParams
	parent *fold.State // nil without one
	id     string
	digest string

	target     *target
	parameters json.RawMessage
	record     parley.SessionRecord
}

// StartSession begins a session, or meets the one that the same caller has begun with the same key, and waits for its end in mode sync. The session does not
// end with ctx.
func (h *Hub) StartSession(ctx context.Context, p *auth.Principal, q *parley.StartSessionParams) (*parley.Session, error) {
	return auth.CallFresh(ctx, h.auth, func() (*parley.Session, error) { return h.startSession(ctx, p, q) })
}

func (h *Hub) startSession(ctx context.Context, p *auth.Principal, q *parley.StartSessionParams) (*parley.Session, error) {
	if err := h.auth.Allow(p, parley.MethodStartSession); err != nil {
		return nil, err
	}
	if p.Claim() != nil {
		return nil, parley.Refuse(parley.ErrForbidden, "a token for one turn starts no sessions", "the token of its executor")
	}
	if err := h.settled(ctx); err != nil {
		return nil, err
	}
	params := *q
	if err := checkStart(&params); err != nil {
		return nil, err
	}
	if params.Resume != "" {
		return h.resume(ctx, p, &params)
	}
	s := &starting{hub: h, by: p, params: &params}
	if err := s.place(); err != nil {
		return nil, err
	}
	c, err := h.conv.Pin(s.id)
	if err != nil {
		return nil, err
	}
	defer h.conv.Unpin(c)
	met, err := s.begin(ctx, c)
	if err != nil {
		return nil, err
	}
	return h.answerStart(ctx, s.by, c, &params, met)
}

// answerStart answers startSession: at once or, in mode sync, when the session has ended.
func (h *Hub) answerStart(ctx context.Context, p *auth.Principal, c *conv.Conversation, q *parley.StartSessionParams, met bool) (*parley.Session, error) {
	wait := int64(0)
	if s := c.Head(); s.Session.Mode == parley.ModeSync {
		wait = parley.MaxWaitMs
		if q.TimeoutMs > 0 {
			wait = q.TimeoutMs
		}
	}
	out, err := h.await(ctx, p, c, wait, nil)
	if err == nil {
		out.Duplicate = met
	}
	return out, err
}

// settled waits until the hub knows what runs.
func (h *Hub) settled(ctx context.Context) error { return h.turns.AwaitRecovery(ctx) }

// checkStart holds params against the rules that need no state, and fills in what follows from others.
func checkStart(q *parley.StartSessionParams) error {
	switch {
	case q.Resume != "" && !parley.ValidConversationID(q.Resume):
		return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("resume %q is no id of a session", policy.Clip(q.Resume)), "the id of a session")
	case q.Resume != "" && (q.Mode != "" || len(q.Demands) > 0 || len(q.Metadata) > 0 || q.ParentConversationID != ""):
		return parley.Refuse(parley.ErrValidationFailed, "resume with mode, demands, metadata or parentConversationId", "those of the session, which stay")
	case !parley.ValidAgentName(q.AgentName):
		return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("agentName %q is not acceptable", policy.Clip(q.AgentName)), "a name that listAgents gives")
	case q.Prompt != "" && len(q.Parameters) > 0:
		return parley.Refuse(parley.ErrValidationFailed, "prompt and parameters", "one of them")
	case !q.Mode.Valid():
		return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("mode is %q", policy.Clip(string(q.Mode))), "sync, async_poll or async_callback")
	case q.Mode == parley.ModeAsyncCallback && q.ParentConversationID == "":
		return parley.Refuse(parley.ErrValidationFailed, "mode async_callback without parentConversationId", "the conversation that is to be told")
	case q.TimeoutMs < 0:
		return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("timeoutMs is %d", q.TimeoutMs), fmt.Sprintf("0 to %d", parley.MaxWaitMs))
	}
	if q.Mode == "" && q.Resume == "" {
		q.Mode = parley.ModeSync
	}
	if q.Prompt != "" {
		q.Parameters, q.Prompt = fold.Encode(map[string]string{"prompt": q.Prompt}), ""
	}
	if len(q.Parameters) == 0 {
		q.Parameters = json.RawMessage("{}")
	}
	var err error
	if q.Parameters, err = compact("parameters", q.Parameters); err != nil {
		return err
	}
	if q.Parameters[0] != '{' {
		return parley.Refuse(parley.ErrInvalidParams, "parameters are no object", "an object")
	}
	if len(q.Metadata) > 0 {
		if q.Metadata, err = compact("metadata", q.Metadata); err != nil {
			return err
		}
		if err := fold.CheckMetadata(q.Metadata); err != nil {
			return err
		}
	}
	if err := fold.CheckLabels("demands", q.Demands); err != nil {
		return err
	}
	return cmp.Or(fold.CheckKey(q.ClientRequestID), checkTraceparent(q.Traceparent))
}

// place finds out who starts the session, out of which conversation, and its id.
func (s *starting) place() error {
	q, p := s.params, s.by
	if p.CommandOf() != "" {
		if q.Mode != parley.ModeSync || q.ParentConversationID != "" && q.ParentConversationID != p.CommandOf() {
			return parley.Refuse(parley.ErrForbidden, "a command starts sessions in mode sync, out of its own session", "mode sync")
		}
		q.ParentConversationID = p.CommandOf()
	}
	if q.ParentConversationID != "" {
		if err := s.placeIn(q.ParentConversationID); err != nil {
			return err
		}
	}
	if s.parent == nil && p.IsRestricted() {
		return parley.Refuse(parley.ErrForbidden, "the token is for other conversations", "parentConversationId of one of the token's conversations")
	}
	digested := *q
	digested.ClientRequestID, digested.TimeoutMs, digested.Traceparent = "", 0, ""
	b, err := json.Marshal(digested)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(b)
	s.digest = hex.EncodeToString(sum[:16])
	if q.ClientRequestID == "" {
		s.id = s.hub.opts.NewID(conv.SessionPrefix)
		return nil
	}
	key := sha256.Sum256([]byte("startSession\x00" + s.by.AgentID + "\x00" + q.ParentConversationID + "\x00" + q.ClientRequestID))
	s.id = conv.SessionPrefix + base32Lower.EncodeToString(key[:15])
	return nil
}

// placeIn finds the parent, in which the caller must take part.
func (s *starting) placeIn(id string) error {
	p := s.by.In(id)
	c, err := s.hub.findFor(p, id)
	if err != nil {
		return err
	}
	defer s.hub.conv.Unpin(c)
	state := c.Head()
	if seat := s.hub.sessions.seat(id, p); seat != "" {
		p = p.As(seat)
	}
	if !state.HasParticipant(p.AgentID) {
		return parley.Refuse(parley.ErrForbidden, fmt.Sprintf("%s does not take part in the parent conversation", p.AgentID), "a participant")
	}
	s.by, s.parent = p, &state
	return nil
}

// findFor is find for a writer, also for a command, whose only conversation is its session.
func (h *Hub) findFor(p *auth.Principal, id string) (*conv.Conversation, error) {
	if conv.Reserved(id) {
		return nil, auth.ErrNotFound
	}
	if seat := h.sessions.seat(id, p); seat != "" {
		p = p.As(seat)
	}
	return h.auth.Find(p, id, true)
}

// begin makes the session, or meets it.
func (s *starting) begin(ctx context.Context, c *conv.Conversation) (met bool, err error) {
	head := c.Head()
	if !head.Exists() {
		if err := s.prepare(); err != nil {
			return false, err
		}
		if err := s.hub.sessions.reserve(s.record.Root, s.id); err != nil {
			return false, err
		}
		defer s.hub.sessions.release(s.record.Root, s.id)
	}
	d, err := s.create(ctx, c)
	if err != nil {
		return false, err
	}
	if s.parent != nil {
		err = s.hub.sessions.joined(ctx, s.id)
	}
	return d.Duplicate, err
}

// prepare finds the agent and holds everything against the rules, before anything is made.
func (s *starting) prepare() (err error) {
	q := s.params
	if s.target, err = s.hub.findAgent(q.AgentName, q.Demands); err != nil {
		return err
	}
	if s.parameters, err = s.target.accept(q.Parameters); err != nil {
		return err
	}
	s.record = parley.SessionRecord{
		Agent: q.AgentName, AgentID: s.target.seat(s.by.AgentID), Type: s.target.kind, Caller: s.by.AgentID, Mode: q.Mode, Root: s.id, Depth: 1,
		Demands: q.Demands, Runner: s.target.runner, TimeoutMs: s.target.timeoutMs, Hosted: s.target.hosted,
	}
	if s.parent == nil {
		return nil
	}
	return s.prepareIn(s.parent)
}

// prepareIn holds the session against its parent.
func (s *starting) prepareIn(parent *fold.State) error {
	s.record.Parent, s.record.Root = parent.ID, parent.ID
	if r := parent.Session; r != nil {
		s.record.Root, s.record.Depth = r.Root, r.Depth+1
	}
	switch {
	case parent.Closed():
		return parley.Refuse(parley.ErrConversationClosed, "the parent conversation is closed", "")
	case s.record.Depth > parley.MaxSessionDepth:
		return parley.Refuse(parley.ErrTooLarge, fmt.Sprintf("the session would be %d deep", s.record.Depth), fmt.Sprintf("at most %d", parley.MaxSessionDepth))
	case s.record.Mode == parley.ModeAsyncCallback && parent.Session.Deterministic():
		return parley.Refuse(parley.ErrValidationFailed, "a deterministic agent takes no callbacks", "mode sync")
	}
	s.record.Cause, s.record.Hops = carriedOut(parent, s.by.AgentID)
	return nil
}

// carriedOut gives the cause and the hops of a session that a participant starts out of a conversation: those of what it says there itself.
func carriedOut(parent *fold.State, by string) (*parley.Cause, int) {
	cause, hops := parent.Carries(by)
	if cause != nil && cause.ConversationID == "" {
		cause = &parley.Cause{ConversationID: parent.ID, Seq: cause.Seq}
	}
	return cause, hops
}

// create writes the session, with the message of its caller.
func (s *starting) create(ctx context.Context, c *conv.Conversation) (*fold.Decision, error) {
	cmd := fold.Command{Verb: fold.Create, From: s.by.AgentID, Key: s.params.ClientRequestID, Session: &s.record, Digest: s.digest, Create: &parley.CreateConversationParams{},
		Traceparent: s.params.Traceparent}
	var labels []string
	if s.target != nil {
		cmd.Create = s.conversation()
		cmd.Payload = s.message()
		labels = fold.SeatLabels(s.by.AgentID, cmd.Create.Participants)
	}
	return askKeyed(ctx, c, &conv.Request{Cmd: cmd, Labels: labels})
}

// askKeyed is ask for what a retry meets by its key.
func askKeyed(ctx context.Context, c *conv.Conversation, o *conv.Request) (*fold.Decision, error) {
	d, answered, err := c.Ask(ctx, o)
	if !answered {
		err = &parley.Error{Err: errors.Join(parley.ErrOutcomeUnknown, err), Message: "the call ended before its answer", Expected: "a retry with the same clientRequestId"}
	}
	return d, err
}

// conversation is what createConversation would be given.
func (s *starting) conversation() *parley.CreateConversationParams {
	limits := &parley.Limits{OnTurnTimeout: parley.TurnClose, IdleTimeoutMs: parley.SessionIdleMs, MaxClaimMs: s.target.maxClaimMs}
	if s.target.kind == parley.AgentTypeDeterministic {
		whole := s.target.timeoutMs + parley.SessionSlackMs
		limits = &parley.Limits{OnTurnTimeout: parley.TurnClose, MaxAttempts: 1, TurnTimeoutMs: whole, MaxClaimMs: whole}
		if s.target.idempotent {
			limits.MaxAttempts = parley.IdempotentAttempts
		}
	}
	return &parley.CreateConversationParams{
		Title: policy.Cut("session of "+s.params.AgentName, parley.MaxTitleBytes),
		Participants: []parley.Participant{
			{ID: s.by.AgentID, Kind: parley.KindPeer},
			{ID: s.record.AgentID, Kind: parley.KindAgent, Agent: s.target.sits(s.record.AgentID)},
		},
		StartsWith: s.by.AgentID, Limits: limits, Metadata: s.params.Metadata,
	}
}

func (s *starting) message() json.RawMessage { return callerMessage(s.parameters) }

// callerMessage is the message of a session's caller: the parameters, and as text the prompt among them, for agents that read text.
func callerMessage(parameters json.RawMessage) json.RawMessage {
	var prompt struct {
		Prompt any `json:"prompt"`
	}
	m := parley.Message{Parameters: parameters}
	if json.Unmarshal(parameters, &prompt) == nil {
		m.Text, _ = prompt.Prompt.(string)
	}
	return fold.Encode(m)
}

// agentSeat is the id of an agent's seat: its plain name, unless the caller has that id.
func agentSeat(name, caller string) string {
	plain := plainName(name)
	if plain == caller {
		return policy.Cut(plain, 58) + ".agent"
	}
	return plain
}

// plainName is the name of an agent without its runner.
func plainName(name string) string {
	plain, _, _ := strings.Cut(name, "@")
	return plain
}
