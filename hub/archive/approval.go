package archive

import (
	"errors"
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/internal/limits"
)

// checkApproval refuses an event of an approval that no hub writes on s, the state
// before it. The fold checks who requests it, and that it ends once.
func checkApproval(s *fold.State, e *parley.Event, sys *parley.System) error {
	r := sys.Approval
	switch sys.Kind {
	case parley.KindApprovalRequested:
		if r.Key != "" {
			return errors.New("approval_requested with the key, which is for the asker alone")
		}
		q := parley.ApprovalRecord{Key: "known", Title: r.Title}
		return check.Approval(&q, int64(r.ExpiresAt-e.At))
	case parley.KindApprovalDetails:
		q := parley.ApprovalRecord{Key: r.Key, Title: "known", Details: r.Details, AnswerSchema: r.AnswerSchema}
		if n := max(len(r.TokenID), len(r.Account)); n > maxTokenIDBytes {
			return fmt.Errorf("tokenId or account has %d bytes", n)
		}
		return check.Approval(&q, limits.DefaultApprovalMs)
	case parley.KindApprovalAnswer:
		return check.Answer(&parley.ApprovalRecord{Status: parley.ApprovalApproved, Answer: r.Answer})
	}
	if sys.DurationMs < 0 || sys.DurationMs > limits.MaxTurnMs {
		return fmt.Errorf("approval_resolved with durationMs %d", sys.DurationMs)
	}
	if r.Status == parley.ApprovalTimedOut {
		return checkTimedOut(s, e, r)
	}
	if !parley.ValidParticipantID(r.By) {
		return fmt.Errorf("an approval that %.80q has answered", r.By)
	}
	return check.Answer(&parley.ApprovalRecord{Status: r.Status, Comment: r.Comment})
}

// maxTokenIDBytes is the maximum length of the id of a token.
const maxTokenIDBytes = 128

// checkTimedOut refuses the timeout of an approval that has not expired.
func checkTimedOut(s *fold.State, e *parley.Event, r *parley.ApprovalRecord) error {
	_, seq, _ := eventdata.ParseApprovalID(r.ApprovalID)
	if i := s.ApprovalIndex(seq); i < 0 || e.At < s.Approvals[i].ExpiresAt {
		return errors.New("an approval that has timed out before its time")
	}
	if r.Comment != "" || e.ClientRequestID != "" {
		return errors.New("an approval that has timed out, with a comment or a key")
	}
	return nil
}
