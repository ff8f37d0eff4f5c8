package hub

import (
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// findApproval finds an approval of a committed state: in the state, or in the log where that keeps it no more.
func (h *Hub) findApproval(s *fold.State, seq int64) (*fold.Approval, error) {
	if i := s.Approval(seq); i >= 0 {
		return &s.Approvals[i], nil
	}
	if seq > s.Seq || s.Fork != nil && seq <= s.Fork.Seq { // what the other was asked is not asked here
		return nil, errNoApproval
	}
	var past fold.PastApproval
	for after, over := seq-1, false; !over && after < s.Seq; {
		events, err := h.readEvents(s.ID, after, 200)
		if err != nil {
			return nil, err
		}
		for i := range events {
			if over, err = past.See(s.ID, &events[i]); over || err != nil {
				break
			}
		}
		if err != nil || len(events) == 0 {
			return nil, fmt.Errorf("read an approval of %s: %w", s.ID, err)
		}
		after = events[len(events)-1].Seq
	}
	if past.Seq != seq {
		return nil, errNoApproval
	}
	return &past.Approval, nil
}

// readApproval puts together what the log has of an approval. Everything in it is for who may answer it, who has asked, and admins.
func (h *Hub) readApproval(conversation string, a *fold.Approval) (*parley.Approval, error) {
	out := &parley.Approval{
		ApprovalID: fold.ApprovalID(conversation, a.Seq), ConversationID: conversation, AgentID: a.AgentID, Turn: a.Turn, Key: a.Key,
		Status: a.Status, RequestedAt: a.RequestedAt, ExpiresAt: a.ExpiresAt,
	}
	if err := h.readOf(conversation, out, a.Seq); err != nil || !a.Status.Resolved() || a.Status == parley.ApprovalCanceled {
		return out, err // what is canceled has no events of its own beyond that
	}
	return out, h.readOf(conversation, out, a.ResolvedSeq)
}

// readOf takes what the event at a seq, and the one after it, say of an approval.
func (h *Hub) readOf(conversation string, out *parley.Approval, seq int64) error {
	events, err := h.readEvents(conversation, seq-1, 2)
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
		switch r := sys.Approval; sys.Kind {
		case parley.KindApprovalRequested:
			out.Title = r.Title
		case parley.KindApprovalDetails:
			out.Details, out.AnswerSchema = r.Details, r.AnswerSchema
		case parley.KindApprovalResolved:
			out.ResolvedAt, out.By, out.Comment = events[i].At, r.By, r.Comment
		case parley.KindApprovalAnswer:
			out.Answer = r.Answer
		}
	}
	return nil
}
