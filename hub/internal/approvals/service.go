// Package approvals asks people for approvals, answers them and lists them. A [Service] is an observer
// of the engine, and keeps the pending approvals of all open conversations in memory. Everything else
// about an approval is in the state of its conversation, or only in the log. An answer is decided on
// the head, so each approval has one.
//
// The package starts no goroutine. Service.mu is taken after the mutex of a conversation. It is not
// held during a call to another package.
package approvals

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/page"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/paramschema"
)

// Turns is what a Service uses of turns.Dispatcher, which documents the methods.
type Turns interface {
	EnterClaimed(
		p *auth.Principal, method, conversation, claimID string, cmd *fold.Command,
	) (*conv.Conversation, *auth.Principal, error)
	ConfirmHolder(hash eventdata.ClaimHash, id string, p *auth.Principal)
	AwaitRecovery(ctx context.Context) error
}

// Service has the methods of the protocol for approvals.
type Service struct {
	engine *conv.Engine
	auth   *auth.Service
	turns  Turns

	mu   sync.Mutex             // guards the field below
	open map[string]*fold.State // the open conversations that ever had an approval, with the pending ones
}

// New returns a Service. The engine notifies it of commits.
func New(e *conv.Engine, a *auth.Service, t Turns) *Service {
	return &Service{engine: e, auth: a, turns: t, open: make(map[string]*fold.State)}
}

var errNotFound = parley.Refuse(parley.ErrNotFound, "there is no such approval", "")

// detailsLevel is the largest number of levels around the JSON of an approval in a message of the
// protocol. A page of events has that many.
const detailsLevel = 6

// Request requests an approval under a claim. It returns the approval that the turn already has for
// the same key.
func (s *Service) Request(
	ctx context.Context, p *auth.Principal, q *parley.RequestApprovalParams,
) (*parley.Approval, error) {
	var cmd fold.Command
	c, p, err := s.turns.EnterClaimed(p, methods.RequestApproval, q.ConversationID, q.ClaimID, &cmd)
	if err != nil {
		return nil, err
	}
	defer s.engine.Unpin(c)
	do, err := checkRequest(q)
	if err != nil {
		return nil, err
	}
	do.TokenID, do.Account = p.TokenID, p.Account
	cmd.Do, cmd.From, cmd.Admin = do, p.AgentID, p.Admin()
	d, err := c.AskOnce(ctx, &conv.Request{By: p, Cmd: cmd}, "a retry with the same key")
	if err != nil {
		return nil, err
	}
	if q.ClaimID != "" {
		s.turns.ConfirmHolder(*cmd.Named, q.ClaimID, p)
	}
	return s.readDecided(p, d)
}

// checkRequest checks everything about a request that does not depend on a state.
func checkRequest(q *parley.RequestApprovalParams) (*fold.RequestApproval, error) {
	a := &fold.RequestApproval{ExpiresInMs: cmp.Or(q.ExpiresInMs, int64(limits.DefaultApprovalMs))}
	a.Key, a.Title = q.Key, q.Title
	var err error
	if a.Details, err = compactParam("details", q.Details); err != nil {
		return nil, err
	}
	if a.AnswerSchema, err = compactParam("answerSchema", q.AnswerSchema); err != nil {
		return nil, err
	}
	if err := check.Approval(&a.ApprovalRecord, a.ExpiresInMs); err != nil {
		return nil, err
	}
	if len(a.AnswerSchema) > 0 {
		if _, err := paramschema.Compile(a.AnswerSchema); err != nil {
			return nil, nameParam("answerSchema", err)
		}
	}
	return a, nil
}

// compactParam checks the JSON of an approval and removes insignificant space. It returns nil for an
// empty value.
func compactParam(name string, raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if err := check.JSON(raw, detailsLevel); err != nil {
		return nil, nameParam(name, err)
	}
	return check.CompactParam(name, raw)
}

// nameParam adds the name of a parameter to the message of an error.
func nameParam(name string, err error) error {
	refusal, ok := err.(*parley.Error)
	if !ok {
		return fmt.Errorf("%s: %w", name, err)
	}
	named := *refusal
	named.Message = name + ": " + refusal.Message
	return &named
}

func (s *Service) readDecided(p *auth.Principal, d *fold.Decision) (*parley.Approval, error) {
	i := d.State.ApprovalIndex(d.Seq)
	if i < 0 {
		return nil, errNotFound
	}
	a := &d.State.Approvals[i]
	out, err := s.read(&d.State, a)
	out.Duplicate, out.MayAnswer = d.Duplicate, s.newAnswerer(p).findRights(&d.State, a).canAnswerNow()
	return out, err
}

// Get returns an approval. With a timeout it waits until the approval is resolved.
func (s *Service) Get(ctx context.Context, p *auth.Principal, q *parley.GetApprovalParams) (*parley.Approval, error) {
	if err := s.auth.Allow(p, methods.GetApproval); err != nil {
		return nil, err
	}
	c, seq, err := s.pin(q.ApprovalID)
	if err != nil {
		return nil, err
	}
	defer s.engine.Unpin(c)
	var out *parley.Approval
	err = page.Poll(ctx, s.engine, p, q.TimeoutMs, func(timedOut bool) (<-chan struct{}, bool, error) {
		state, changed, err := c.Look()
		if err != nil {
			return nil, false, err
		}
		w := s.newAnswerer(p)
		a, err := s.find(w, &state, seq)
		if err != nil {
			return nil, false, err
		}
		r := w.findRights(&state, a)
		if !r.canRead() {
			return nil, false, errNotFound
		}
		if !a.Status.Resolved() && !timedOut {
			return changed, false, nil
		}
		out, err = s.read(&state, a)
		out.MayAnswer, out.TimedOut = r.canAnswerNow(), !a.Status.Resolved() && q.TimeoutMs > 0
		return nil, true, err
	})
	return out, err
}

// pin pins the conversation of an approval, without a check whether the caller may see it.
func (s *Service) pin(id string) (*conv.Conversation, int64, error) {
	conversation, seq, ok := eventdata.ParseApprovalID(id)
	if !ok || conv.Reserved(conversation) || !parley.ValidConversationID(conversation) {
		return nil, 0, errNotFound
	}
	c, err := s.engine.Pin(conversation)
	return c, seq, err
}

// Resolve answers a pending approval.
func (s *Service) Resolve(
	ctx context.Context, p *auth.Principal, q *parley.ResolveApprovalParams,
) (*parley.Approval, error) {
	if err := s.auth.Allow(p, methods.ResolveApproval); err != nil {
		return nil, err
	}
	c, seq, err := s.pin(q.ApprovalID)
	if err != nil {
		return nil, err
	}
	defer s.engine.Unpin(c)
	state := c.Durable()
	w := s.newAnswerer(p)
	a, err := s.find(w, &state, seq)
	if err != nil {
		return nil, err
	}
	r := w.findRights(&state, a)
	if err := r.refuseAnswer(); err != nil {
		return nil, err
	}
	answer, err := s.checkAnswer(q, &state, a)
	if err != nil {
		return nil, err
	}
	if answer.By = r.principal.AgentID; state.ApprovalIndex(seq) < 0 {
		return s.readResolved(&state, a, answer, q.ClientRequestID)
	}
	request := &conv.Request{By: r.principal, Unseen: true, Cmd: fold.Command{
		Do: answer, From: answer.By, Admin: p.Admin(), Key: q.ClientRequestID,
	}}
	d, err := c.AskOnce(ctx, request, "a retry with the same clientRequestId")
	if err == nil {
		return s.readDecided(p, d)
	}
	if !errors.Is(err, parley.ErrNotFound) {
		return nil, err
	}
	if state = c.Durable(); state.ApprovalIndex(seq) >= 0 {
		return nil, err
	}
	// The approval was resolved, and dropped from the state, after the first look.
	if a, err = s.find(w, &state, seq); err != nil {
		return nil, err
	}
	return s.readResolved(&state, a, answer, q.ClientRequestID)
}

// checkAnswer checks an answer, and compares it with the answer schema if a is pending.
func (s *Service) checkAnswer(
	q *parley.ResolveApprovalParams, state *fold.State, a *fold.Approval,
) (*fold.ResolveApproval, error) {
	answer := &fold.ResolveApproval{Seq: a.Seq}
	answer.Status, answer.Comment = parley.ApprovalStatus(q.Decision), q.Comment
	var err error
	if answer.Answer, err = compactParam("answer", q.Answer); err != nil {
		return nil, err
	}
	if err := cmp.Or(check.Answer(&answer.ApprovalRecord), check.Key(q.ClientRequestID)); err != nil {
		return nil, err
	}
	if len(answer.Answer) == 0 || !a.Schema || a.Status.Resolved() {
		return answer, nil
	}
	asked, err := s.read(state, a)
	if err != nil {
		return nil, err
	}
	return answer, checkSchema(asked.AnswerSchema, answer.Answer)
}

const maxNamedFaults = 5

// checkSchema refuses an answer that does not match the schema.
func checkSchema(raw, answer json.RawMessage) error {
	schema, err := paramschema.Compile(raw)
	if err != nil {
		return nameParam("answerSchema", err)
	}
	faults, err := schema.Validate(answer)
	if err != nil {
		return nameParam("answer", err)
	}
	if len(faults) == 0 {
		return nil
	}
	var named []string
	for _, f := range faults[:min(len(faults), maxNamedFaults)] {
		named = append(named, "answer"+strings.TrimPrefix(f.Path, "$")+": "+f.Message)
	}
	return page.Invalid("an answer that does", "the answer does not match the answerSchema: %s", strings.Join(named, "; "))
}

// readResolved returns a resolved approval that the state no longer has, if the answer is the one that
// resolved it. Otherwise it refuses the answer.
func (s *Service) readResolved(
	state *fold.State, a *fold.Approval, answer *fold.ResolveApproval, key string,
) (*parley.Approval, error) {
	if !a.IsAnswer(key, &answer.ApprovalRecord) {
		return nil, a.Refusal()
	}
	out, err := s.read(state, a)
	out.Duplicate = true
	return out, err
}

// find finds an approval of a committed state: in the state, or in the log if the state no longer has
// it. It does not read the log if the caller may read no approval of the conversation.
func (s *Service) find(w *answerer, state *fold.State, seq int64) (*fold.Approval, error) {
	if !w.mayRead(state) {
		return nil, errNotFound
	}
	if i := state.ApprovalIndex(seq); i >= 0 {
		return &state.Approvals[i], nil
	}
	if seq > state.Seq || state.Fork != nil && seq <= state.Fork.Seq { // a fork does not copy approvals
		return nil, errNotFound
	}
	var past fold.PastApproval
	for e, err := range s.engine.History(state.ID, seq-1) {
		if err != nil {
			return nil, err
		}
		if complete, err := past.ReadEvent(state.ID, e); err != nil {
			return nil, fmt.Errorf("read an approval of %s: %w", state.ID, err)
		} else if complete || e.Seq >= state.Seq {
			break
		}
	}
	if past.Seq != seq {
		return nil, errNotFound
	}
	return &past.Approval, nil
}

// read returns an approval of a state with all that the log has of it. The caller checks who may see
// that.
func (s *Service) read(state *fold.State, a *fold.Approval) (*parley.Approval, error) {
	out := &parley.Approval{
		ApprovalID: eventdata.ApprovalID(state.ID, a.Seq), ConversationID: state.ID, AgentID: a.AgentID, Seq: state.Seq,
		Turn: a.Turn, Key: a.Key, Status: a.Status, RequestedAt: a.RequestedAt, ExpiresAt: a.ExpiresAt,
	}
	err := s.readPair(out, a.Seq)
	if err != nil || !a.Status.Resolved() || a.Status == parley.ApprovalCanceled {
		return out, err // the cancellation of an approval has no event
	}
	return out, s.readPair(out, a.ResolvedSeq)
}

// readPair adds to an approval what the event at a seq and the next event have of it.
func (s *Service) readPair(out *parley.Approval, seq int64) error {
	events, err := s.engine.ReadEvents(out.ConversationID, seq-1, 2)
	if err != nil {
		return err
	}
	for i := range events {
		if events[i].Type != parley.TypeSystem {
			continue
		}
		sys, err := events[i].System()
		if err != nil {
			return err
		}
		if sys.Approval == nil || sys.Approval.ApprovalID != out.ApprovalID {
			continue
		}
		switch record := sys.Approval; sys.Kind {
		case parley.KindApprovalRequested:
			out.Title = record.Title
		case parley.KindApprovalDetails:
			out.Details, out.AnswerSchema = record.Details, record.AnswerSchema
		case parley.KindApprovalResolved:
			out.ResolvedAt, out.By, out.Comment = events[i].At, record.By, record.Comment
		case parley.KindApprovalAnswer:
			out.Answer = record.Answer
		}
	}
	return nil
}
