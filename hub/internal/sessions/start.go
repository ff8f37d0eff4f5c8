package sessions

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/page"
	"github.com/parleyhub/parley/hub/internal/registry"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/methods"
)

// start is the start of one session.
//
//	params -> caller, parent, id -> duplicate? -> agent, parameters -> place in the tree
//	       -> session (one append) -> log of the parent (its task) -> wait
type start struct {
	service *Service
	by      *auth.Principal // in the parent, if there is one
	params  *parley.StartSessionParams
	parent  *fold.State // nil without one
	id      string
	digest  string

	agent      *Agent
	parameters json.RawMessage
	record     parley.SessionRecord
}

// Start starts a session, or finds the one that the same caller started with the same key. In mode sync
// it waits for the end. The session does not end with ctx.
func (s *Service) Start(ctx context.Context, p *auth.Principal, q *parley.StartSessionParams) (*parley.Session, error) {
	if err := s.opts.Auth.Allow(p, methods.StartSession); err != nil {
		return nil, err
	}
	if p.Claim() != nil {
		return nil, parley.Refuse(parley.ErrForbidden, "a token for one turn starts no sessions", "the token of its executor")
	}
	if err := s.opts.Turns.AwaitRecovery(ctx); err != nil {
		return nil, err
	}
	params := *q
	if err := checkStart(&params); err != nil {
		return nil, err
	}
	if params.Resume != "" {
		return s.resume(ctx, p, &params)
	}
	x := &start{service: s, by: p, params: &params}
	if err := x.locate(); err != nil {
		return nil, err
	}
	c, err := s.engine.Pin(x.id)
	if err != nil {
		return nil, err
	}
	defer s.engine.Unpin(c)
	duplicate, err := x.run(ctx, c)
	if err != nil {
		return nil, err
	}
	return s.answerStart(ctx, x.by, c, &params, duplicate)
}

// answerStart returns the session: at once or, in mode sync, when it ended.
func (s *Service) answerStart(
	ctx context.Context, p *auth.Principal, c *conv.Conversation, q *parley.StartSessionParams, duplicate bool,
) (*parley.Session, error) {
	wait := int64(0)
	if head := c.Head(); head.Session.Mode == parley.ModeSync {
		wait = cmp.Or(q.TimeoutMs, parley.MaxWaitMs)
	}
	out, err := s.await(ctx, p, c, wait, nil)
	if err == nil {
		out.Duplicate = duplicate
	}
	return out, err
}

// checkStart checks what needs no state, and sets the defaults.
func checkStart(q *parley.StartSessionParams) error {
	switch {
	case q.Resume != "" && !parley.ValidConversationID(q.Resume):
		return page.Invalid("the id of a session", "resume %q is no id of a session", policy.Clip(q.Resume))
	case q.Resume != "" && (q.Mode != "" || len(q.Demands) > 0 || len(q.Metadata) > 0 || q.ParentConversationID != ""):
		return page.Invalid("those of the session, which stay", "resume with mode, demands, metadata or parentConversationId")
	case !parley.ValidAgentName(q.AgentName):
		return page.Invalid(listedName, "agentName %q is not acceptable", policy.Clip(q.AgentName))
	case q.Prompt != "" && len(q.Parameters) > 0:
		return page.Invalid("one of them", "prompt and parameters")
	case !q.Mode.Valid():
		return page.Invalid("sync, async_poll or async_callback", "mode is %q", policy.Clip(string(q.Mode)))
	case q.Mode == parley.ModeAsyncCallback && q.ParentConversationID == "":
		return page.Invalid("the conversation that receives the result", "mode async_callback without parentConversationId")
	case q.TimeoutMs < 0:
		return page.Invalid(fmt.Sprintf("0 to %d", parley.MaxWaitMs), "timeoutMs is %d", q.TimeoutMs)
	}
	if q.Mode == "" && q.Resume == "" {
		q.Mode = parley.ModeSync
	}
	if q.Prompt != "" {
		q.Parameters, q.Prompt = eventdata.Encode(map[string]string{"prompt": q.Prompt}), ""
	}
	if len(q.Parameters) == 0 {
		q.Parameters = json.RawMessage("{}")
	}
	var err error
	if q.Parameters, err = check.Compact(q.Parameters); err != nil {
		return parley.Refuse(parley.ErrInvalidParams, "parameters is not JSON", "JSON")
	}
	if q.Parameters[0] != '{' {
		return parley.Refuse(parley.ErrInvalidParams, "parameters are no object", "an object")
	}
	if len(q.Metadata) > 0 {
		if q.Metadata, err = check.Compact(q.Metadata); err != nil {
			return parley.Refuse(parley.ErrInvalidParams, "metadata is not JSON", "JSON")
		}
		if err := check.Metadata(q.Metadata); err != nil {
			return err
		}
	}
	if err := cmp.Or(check.Labels("demands", q.Demands), check.Key(q.ClientRequestID)); err != nil {
		return err
	}
	if q.Traceparent != "" && !parley.ValidTraceparent(q.Traceparent) {
		return page.Invalid("a traceparent of W3C Trace Context, version 00", "traceparent is not one")
	}
	return nil
}

// locate sets the parent, the caller in it, and the id of the session.
func (x *start) locate() error {
	q, p := x.params, x.by
	if p.CommandOf() != "" {
		if q.Mode != parley.ModeSync || q.ParentConversationID != "" && q.ParentConversationID != p.CommandOf() {
			return parley.Refuse(parley.ErrForbidden,
				"a command starts sessions in mode sync, out of its own session", "mode sync")
		}
		q.ParentConversationID = p.CommandOf()
	}
	if q.ParentConversationID != "" {
		if err := x.enterParent(q.ParentConversationID); err != nil {
			return err
		}
	}
	if x.parent == nil && p.IsRestricted() {
		return parley.Refuse(parley.ErrForbidden, "the token is for other conversations",
			"parentConversationId of one of the token's conversations")
	}
	digested := *q
	digested.ClientRequestID, digested.TimeoutMs, digested.Traceparent = "", 0, ""
	b, err := json.Marshal(digested)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(b)
	x.digest = hex.EncodeToString(sum[:16])
	if q.ClientRequestID == "" {
		x.id = x.service.opts.NewID(conv.SessionPrefix)
		return nil
	}
	key := sha256.Sum256(
		[]byte("startSession\x00" + x.by.AgentID + "\x00" + q.ParentConversationID + "\x00" + q.ClientRequestID))
	x.id = conv.SessionPrefix + strings.ToLower(base32.StdEncoding.EncodeToString(key[:15]))
	return nil
}

// enterParent sets the parent, in which the caller must take part.
func (x *start) enterParent(id string) error {
	if conv.Reserved(id) {
		return auth.ErrNotFound
	}
	s, p := x.service, x.by.In(id)
	if seat := s.SeatOf(id, p); seat != "" {
		p = p.As(seat)
	}
	c, err := s.opts.Auth.Find(p, id, true)
	if err != nil {
		return err
	}
	defer s.engine.Unpin(c)
	state := c.Head()
	if !state.HasParticipant(p.AgentID) {
		return parley.Refuse(parley.ErrForbidden,
			fmt.Sprintf("%s does not take part in the parent conversation", p.AgentID), "a participant")
	}
	x.by, x.parent = p, &state
	return nil
}

func (x *start) run(ctx context.Context, c *conv.Conversation) (duplicate bool, err error) {
	s := x.service
	if head := c.Head(); !head.Exists() {
		a, err := s.findAgent(x.params.AgentName, x.params.Demands)
		if err == nil {
			err = x.prepare(a, x.params.Parameters)
		}
		if err == nil {
			err = s.reserve(x.record.Root, x.id)
		}
		if err != nil {
			return false, err
		}
		defer s.release(x.record.Root, x.id, true)
	}
	d, err := x.create(ctx, c)
	if err != nil {
		return false, err
	}
	if x.parent != nil {
		err = x.waitInParent(ctx)
	}
	return d.Duplicate, err
}

// waitInParent waits until the log of the parent has the start of the session, or the session ended. If
// neither happens for the longest wait of a call, it returns nil, because the session exists.
func (x *start) waitInParent(ctx context.Context) error {
	_, confirmed := x.service.confirmation(x.id)
	if confirmed == nil {
		return nil
	}
	timer := time.NewTimer(parley.MaxWaitMs * time.Millisecond)
	defer timer.Stop()
	select {
	case <-confirmed:
	case <-timer.C:
	case <-ctx.Done():
		return ctx.Err()
	case <-x.service.engine.Draining():
		return conv.ErrDraining
	}
	return nil
}

// prepare checks the session against its agent and its parent, and makes its record.
func (x *start) prepare(a *Agent, parameters json.RawMessage) (err error) {
	if x.parameters, err = a.accept(parameters); err != nil {
		return err
	}
	seat, _ := a.seat(x.by.AgentID)
	x.agent, x.record = a, parley.SessionRecord{
		Agent: x.params.AgentName, AgentID: seat, Type: a.kind, Caller: x.by.AgentID, Mode: x.params.Mode, Root: x.id,
		Depth: 1, Demands: x.params.Demands, Runner: a.runner, TimeoutMs: a.timeoutMs(), Hosted: a.hosted,
	}
	if x.parent == nil {
		return nil
	}
	x.record.Parent, x.record.Root = x.parent.ID, x.parent.ID
	if r := x.parent.Session; r != nil {
		x.record.Root, x.record.Depth = r.Root, r.Depth+1
	}
	switch {
	case x.parent.Closed():
		return parley.Refuse(parley.ErrConversationClosed, "the parent conversation is closed", "")
	case x.record.Depth > limits.MaxSessionDepth:
		return parley.Refuse(parley.ErrTooLarge,
			fmt.Sprintf("the session would be %d deep", x.record.Depth), fmt.Sprintf("at most %d", limits.MaxSessionDepth))
	case x.record.Mode == parley.ModeAsyncCallback && x.parent.Session.Deterministic():
		return page.Invalid("mode sync", "a deterministic agent takes no callbacks")
	}
	x.record.Cause, x.record.Hops = x.parent.CauseOf(x.by.AgentID) // those of what the caller says there
	if cause := x.record.Cause; cause != nil && cause.ConversationID == "" {
		x.record.Cause = &parley.Cause{ConversationID: x.parent.ID, Seq: cause.Seq}
	}
	return nil
}

// keyedRetry is the advice to a caller whose call ends before its answer.
const keyedRetry = "a retry with the same clientRequestId"

func (x *start) create(ctx context.Context, c *conv.Conversation) (*fold.Decision, error) {
	do := &fold.Create{Params: &parley.CreateConversationParams{}, Session: &x.record, Digest: x.digest}
	cmd := fold.Command{
		Do: do, From: x.by.AgentID, Key: x.params.ClientRequestID, Traceparent: x.params.Traceparent,
	}
	var labels []string
	if x.agent != nil {
		do.Params, do.Payload = x.conversation(), callerMessage(x.parameters)
		labels = eventdata.SeatLabels(x.by.AgentID, do.Params.Participants)
	}
	return c.AskOnce(ctx, &conv.Request{Cmd: cmd, Labels: labels}, keyedRetry)
}

// conversation returns the params with which createConversation would create the session.
func (x *start) conversation() *parley.CreateConversationParams {
	lim := &parley.Limits{
		OnTurnTimeout: parley.TurnClose, IdleTimeoutMs: limits.SessionIdleMs, MaxClaimMs: x.agent.maxClaimMs,
	}
	if x.agent.kind == parley.AgentTypeDeterministic {
		whole := x.agent.timeoutMs() + limits.SessionSlackMs
		lim = &parley.Limits{OnTurnTimeout: parley.TurnClose, MaxAttempts: 1, TurnTimeoutMs: whole, MaxClaimMs: whole}
		if x.agent.idempotent {
			lim.MaxAttempts = limits.IdempotentAttempts
		}
	}
	seat, agent := x.agent.seat(x.by.AgentID)
	return &parley.CreateConversationParams{
		Title: policy.Cut("session of "+x.params.AgentName, parley.MaxTitleBytes),
		Participants: []parley.Participant{
			{ID: x.by.AgentID, Kind: parley.KindPeer}, {ID: seat, Kind: parley.KindAgent, Agent: agent},
		},
		StartsWith: x.by.AgentID, Limits: lim, Metadata: x.params.Metadata,
	}
}

// callerMessage is the message with which a caller passes parameters. Its text is the prompt, for agents
// that read text.
func callerMessage(parameters json.RawMessage) json.RawMessage {
	var prompt struct {
		Prompt any `json:"prompt"`
	}
	m := parley.Message{Parameters: parameters}
	if json.Unmarshal(parameters, &prompt) == nil {
		m.Text, _ = prompt.Prompt.(string)
	}
	return eventdata.Encode(m)
}

// StartTriggered starts the session c that an event of parent starts. It returns ErrTreeFull if the tree
// has no room.
func (s *Service) StartTriggered(
	c *conv.Conversation, parent *fold.State, w *fold.Match, b *registry.Blueprint, parameters json.RawMessage,
) error {
	x := &start{
		service: s, by: &auth.Principal{AgentID: w.By}, parent: parent, id: w.SessionID,
		params: &parley.StartSessionParams{AgentName: w.Agent, Mode: parley.ModeAsyncPoll, Traceparent: w.Traceparent},
	}
	if err := x.prepare(newAgent(b, b.Name, true), parameters); err != nil {
		return err
	}
	x.record.Trigger = &parley.SessionTrigger{Seq: w.Seq, Selector: w.Selector, Workspace: w.Workspace}
	x.record.Cause, x.record.Hops = &parley.Cause{ConversationID: parent.ID, Seq: w.Seq}, w.Hops+1
	if err := s.reserve(x.record.Root, x.id); err != nil {
		return err
	}
	defer s.release(x.record.Root, x.id, false)
	_, err := x.create(context.Background(), c)
	return err
}
