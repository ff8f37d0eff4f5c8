package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/internal/page"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/internal/paramschema"
)

var errNoApproval = parley.Refuse(parley.ErrNotFound, "there is no such approval", "")

// approvalLevel is how deep the JSON of an approval stands in a page of events, where it stands deepest.
const approvalLevel = 6

// RequestApproval asks for an approval under a claim, or meets what was asked with the same key in the same turn.
func (h *Hub) RequestApproval(ctx context.Context, p *auth.Principal, q *parley.RequestApprovalParams) (*parley.Approval, error) {
	cmd := fold.Command{Verb: fold.RequestApproval}
	c, p, err := h.turns.EnterClaimed(p, parley.MethodRequestApproval, q.ConversationID, q.ClaimID, &cmd)
	if err != nil {
		return nil, err
	}
	defer h.conv.Unpin(c)
	if cmd.Approval, err = newAsked(q); err != nil {
		return nil, err
	}
	cmd.From, cmd.Admin, cmd.Approval.TokenID, cmd.Approval.Account = p.AgentID, p.Admin(), p.TokenID, p.Account
	d, err := askApproval(ctx, c, &conv.Request{By: p, Cmd: cmd}, "a retry with the same key")
	if err != nil {
		return nil, err
	}
	if q.ClaimID != "" {
		h.turns.ConfirmHolder(*cmd.Named, q.ClaimID, p)
	}
	return h.decidedApproval(p, d)
}

// newAsked holds what is asked for against the rules that need no state.
func newAsked(q *parley.RequestApprovalParams) (*fold.Asked, error) {
	a := &fold.Asked{ExpiresInMs: cmp.Or(q.ExpiresInMs, int64(parley.DefaultApprovalMs))}
	a.Key, a.Title = q.Key, q.Title
	var err error
	if a.Details, err = approvalJSON("details", q.Details); err != nil {
		return nil, err
	}
	if a.AnswerSchema, err = approvalJSON("answerSchema", q.AnswerSchema); err != nil {
		return nil, err
	}
	if err := fold.CheckApproval(&a.ApprovalRecord, a.ExpiresInMs); err != nil {
		return nil, err
	}
	if len(a.AnswerSchema) > 0 {
		if _, err := paramschema.Compile(a.AnswerSchema); err != nil {
			return nil, inside("answerSchema", err)
		}
	}
	return a, nil
}

// approvalJSON gives JSON of an approval without insignificant space; nothing is none.
func approvalJSON(name string, raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	if err := checkJSON(raw, approvalLevel); err != nil {
		return nil, inside(name, err)
	}
	return compact(name, raw)
}

// inside says in what of the params a refusal has found its fault.
func inside(name string, err error) error {
	refusal, ok := err.(*parley.Error)
	if !ok {
		return fmt.Errorf("%s: %w", name, err)
	}
	named := *refusal
	named.Message = name + ": " + refusal.Message
	return &named
}

// askApproval is ask for what a retry meets.
func askApproval(ctx context.Context, c *conv.Conversation, o *conv.Request, retry string) (*fold.Decision, error) {
	d, answered, err := c.Ask(ctx, o)
	if !answered {
		err = &parley.Error{Err: errors.Join(parley.ErrOutcomeUnknown, err), Message: "the call ended before its answer", Expected: retry}
	}
	return d, err
}

// decidedApproval tells of the approval that a decision has made, met or resolved.
func (h *Hub) decidedApproval(p *auth.Principal, d *fold.Decision) (*parley.Approval, error) {
	i := d.State.Approval(d.Seq)
	if i < 0 {
		return nil, errNoApproval
	}
	out, err := h.readApproval(d.State.ID, &d.State.Approvals[i])
	if err != nil {
		return nil, err
	}
	may := h.newAnswerer(p).of(&d.State, &d.State.Approvals[i])
	out.Seq, out.Duplicate, out.MayAnswer = d.State.Seq, d.Duplicate, may.pending()
	return out, nil
}

// GetApproval tells how an approval stands, and waits for its end if it is told to.
func (h *Hub) GetApproval(ctx context.Context, p *auth.Principal, q *parley.GetApprovalParams) (*parley.Approval, error) {
	return auth.CallFresh(ctx, h.auth, func() (*parley.Approval, error) { return h.getApproval(ctx, p, q) })
}

func (h *Hub) getApproval(ctx context.Context, p *auth.Principal, q *parley.GetApprovalParams) (*parley.Approval, error) {
	if err := h.auth.Allow(p, parley.MethodGetApproval); err != nil {
		return nil, err
	}
	c, seq, err := h.pinApproval(q.ApprovalID)
	if err != nil {
		return nil, err
	}
	defer h.conv.Unpin(c)
	timer, err := page.WaitTimer(q.TimeoutMs)
	if err != nil {
		return nil, err
	}
	defer timer.Stop()
	for timedOut := false; ; {
		s, changed, err := c.Look()
		if err = cmp.Or(err, p.Valid(h.Now())); err != nil {
			return nil, err
		}
		if !h.newAnswerer(p).near(&s) {
			return nil, errNoApproval
		}
		a, err := h.findApproval(&s, seq)
		if err != nil {
			return nil, err
		}
		may := h.newAnswerer(p).of(&s, a)
		if !may.Reads() {
			return nil, errNoApproval
		}
		if a.Status.Resolved() || timedOut {
			out, err := h.readApproval(c.ID(), a)
			if err == nil {
				out.Seq, out.MayAnswer, out.TimedOut = s.Seq, may.pending(), !a.Status.Resolved() && q.TimeoutMs > 0
			}
			return out, err
		}
		if timedOut, err = h.conv.Wait(ctx, p, changed, timer, q.TimeoutMs); err != nil {
			return nil, err
		}
	}
}

// pinApproval pins the conversation of an approval. Whether this is there for anybody is not looked at.
func (h *Hub) pinApproval(id string) (*conv.Conversation, int64, error) {
	conversation, seq, ok := fold.ParseApprovalID(id)
	if !ok || conv.Reserved(conversation) || !parley.ValidConversationID(conversation) {
		return nil, 0, errNoApproval
	}
	c, err := h.conv.Pin(conversation)
	return c, seq, err
}

// ResolveApproval answers an approval that is pending.
func (h *Hub) ResolveApproval(ctx context.Context, p *auth.Principal, q *parley.ResolveApprovalParams) (*parley.Approval, error) {
	return auth.CallFresh(ctx, h.auth, func() (*parley.Approval, error) { return h.resolveApproval(ctx, p, q) })
}

func (h *Hub) resolveApproval(ctx context.Context, p *auth.Principal, q *parley.ResolveApprovalParams) (*parley.Approval, error) {
	if err := h.auth.Allow(p, parley.MethodResolveApproval); err != nil {
		return nil, err
	}
	c, seq, err := h.pinApproval(q.ApprovalID)
	if err != nil {
		return nil, err
	}
	defer h.conv.Unpin(c)
	s := c.Durable()
	w := h.newAnswerer(p)
	if !w.near(&s) {
		return nil, errNoApproval
	}
	a, err := h.findApproval(&s, seq)
	if err != nil {
		return nil, err
	}
	may := w.of(&s, a)
	if err := may.refusal(); err != nil {
		return nil, err
	}
	answer, err := h.newAnswer(q, c.ID(), a)
	if err != nil {
		return nil, err
	}
	if answer.By = may.who.AgentID; s.Approval(seq) < 0 {
		return h.answerPast(&s, a, answer, q.ClientRequestID)
	}
	cmd := fold.Command{Verb: fold.ResolveApproval, From: answer.By, Admin: p.Admin(), Key: q.ClientRequestID, Approval: answer}
	d, err := askApproval(ctx, c, &conv.Request{By: may.who, Unseen: true, Cmd: cmd}, "a retry with the same clientRequestId")
	if errors.Is(err, parley.ErrNotFound) {
		return h.answerForgotten(c, answer, q.ClientRequestID, err)
	}
	if err != nil {
		return nil, err
	}
	return h.decidedApproval(p, d)
}

// newAnswer holds an answer against the rules, and against the schema of what it answers as long as that is pending.
func (h *Hub) newAnswer(q *parley.ResolveApprovalParams, conversation string, a *fold.Approval) (*fold.Asked, error) {
	answer := &fold.Asked{Seq: a.Seq}
	answer.Status, answer.Comment = parley.ApprovalStatus(q.Decision), q.Comment
	var err error
	if answer.Answer, err = approvalJSON("answer", q.Answer); err != nil {
		return nil, err
	}
	if err := fold.CheckAnswer(&answer.ApprovalRecord); err != nil {
		return nil, err
	}
	if err := fold.CheckKey(q.ClientRequestID); err != nil {
		return nil, err
	}
	if len(answer.Answer) == 0 || !a.Schema || a.Status.Resolved() {
		return answer, nil
	}
	asked, err := h.readApproval(conversation, a)
	if err != nil {
		return nil, err
	}
	return answer, matches(asked.AnswerSchema, answer.Answer)
}

// namedFaults bounds the faults of an answer that its refusal names.
const namedFaults = 5

// matches refuses an answer that does not match the schema.
func matches(raw, answer json.RawMessage) error {
	schema, err := paramschema.Compile(raw)
	if err != nil {
		return inside("answerSchema", err)
	}
	faults, err := schema.Validate(answer)
	if err != nil {
		return inside("answer", err)
	}
	if len(faults) == 0 {
		return nil
	}
	var named []string
	for _, f := range faults[:min(len(faults), namedFaults)] {
		named = append(named, "answer"+strings.TrimPrefix(f.Path, "$")+": "+f.Message)
	}
	return parley.Refuse(parley.ErrValidationFailed, "the answer does not match the answerSchema: "+strings.Join(named, "; "), "an answer that does")
}

// answerForgotten answers for an approval that the state has forgotten since it was looked for. Where it has not, the refusal stands.
func (h *Hub) answerForgotten(c *conv.Conversation, answer *fold.Asked, key string, refusal error) (*parley.Approval, error) {
	s := c.Durable()
	if s.Approval(answer.Seq) >= 0 {
		return nil, refusal
	}
	a, err := h.findApproval(&s, answer.Seq)
	if err != nil {
		return nil, err
	}
	return h.answerPast(&s, a, answer, key)
}

// answerPast answers for an approval that the state keeps no more: it is resolved.
func (h *Hub) answerPast(s *fold.State, a *fold.Approval, answer *fold.Asked, key string) (*parley.Approval, error) {
	if !a.Meets(key, &answer.ApprovalRecord) {
		return nil, a.Refuse()
	}
	out, err := h.readApproval(s.ID, a)
	if err == nil {
		out.Seq, out.Duplicate = s.Seq, true
	}
	return out, err
}
