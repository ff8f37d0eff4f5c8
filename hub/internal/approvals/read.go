package approvals

import (
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
)

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
	for after, complete := seq-1, false; !complete && after < state.Seq; {
		events, err := s.engine.ReadEvents(state.ID, after, 200)
		if err != nil {
			return nil, err
		}
		for i := range events {
			if complete, err = past.ReadEvent(state.ID, &events[i]); complete || err != nil {
				break
			}
		}
		if err != nil || len(events) == 0 {
			return nil, fmt.Errorf("read an approval of %s: %w", state.ID, err)
		}
		after = events[len(events)-1].Seq
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
