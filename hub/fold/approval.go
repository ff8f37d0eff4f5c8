package fold

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/fold/idempotency"
	"github.com/parleyhub/parley/internal/limits"
)

// Approval is the part of a requested approval on which later events depend. Its texts are in the
// log: the request at Seq and in the event after it, the answer at ResolvedSeq and in the event
// after that. It does not change.
type Approval struct {
	Seq     int64
	Turn    int64
	AgentID string
	Key     string
	// Hash identifies the request. TokenID is the token with which it was made, and Account the
	// account of its use. Schema is true if the approval may have an answer.
	Hash    [16]byte
	TokenID string
	Account string
	Schema  bool

	RequestedAt, ExpiresAt parley.Timestamp

	Status parley.ApprovalStatus
	// ResolvedSeq is that of approval_resolved, or of the event that ended its turn.
	ResolvedSeq int64
	// Retry identifies the answer, so that a retry is recognized; zero for an answer without a key.
	Retry [16]byte
}

// ApprovalList are the approvals of the current turn, and the last resolved ones of earlier turns.
type ApprovalList struct {
	// Approvals are in the order of their requests.
	Approvals []Approval
	// Lender is the conversation from which the events with these approvals were copied, until the event that reports
	// the fork. Otherwise it is empty.
	Lender string
}

// ApprovalIndex returns the index in Approvals of the one that was requested at a seq, or -1.
func (l *ApprovalList) ApprovalIndex(seq int64) int {
	i, found := slices.BinarySearchFunc(l.Approvals, seq, func(a Approval, seq int64) int { return int(a.Seq - seq) })
	if !found {
		return -1
	}
	return i
}

// Pending returns the pending approvals in the order of their requests. All of them are of the current turn and of one
// participant.
func (l *ApprovalList) Pending() []Approval {
	var pending []Approval
	for _, a := range l.Approvals {
		if !a.Status.Resolved() {
			pending = append(pending, a)
		}
	}
	return pending
}

// pendingApproval returns the last pending approval, or nil. It is called for every append, so it looks only at the
// approvals of the current turn.
func (l *ApprovalList) pendingApproval(turn int64) *Approval {
	for i := len(l.Approvals) - 1; i >= 0 && l.Approvals[i].Turn == turn; i-- {
		if a := &l.Approvals[i]; !a.Status.Resolved() {
			return a
		}
	}
	return nil
}

// firstExpiry returns the earliest end of a pending approval of the current turn, or 0.
func (l *ApprovalList) firstExpiry(turn int64) parley.Timestamp {
	var first parley.Timestamp
	for i := len(l.Approvals) - 1; i >= 0 && l.Approvals[i].Turn == turn; i-- {
		if a := &l.Approvals[i]; !a.Status.Resolved() && (first == 0 || a.ExpiresAt < first) {
			first = a.ExpiresAt
		}
	}
	return first
}

// lastExpiry returns the latest end of a pending approval, or 0.
func (l *ApprovalList) lastExpiry() parley.Timestamp {
	var last parley.Timestamp
	for _, a := range l.Pending() {
		last = max(last, a.ExpiresAt)
	}
	return last
}

// approvalWithKey returns the index of the approval of a turn with a key, or -1.
func (l *ApprovalList) approvalWithKey(turn int64, key string) int {
	return slices.IndexFunc(l.Approvals, func(a Approval) bool { return a.Turn == turn && a.Key == key })
}

// lacksDetails reports whether the event at seq, the last one, is an approval_requested.
func (l *ApprovalList) lacksDetails(seq int64) bool {
	n := len(l.Approvals)
	return n > 0 && l.Approvals[n-1].Seq == seq
}

// editApproval copies the approvals and returns the one at an index, which may be changed.
func (l *ApprovalList) editApproval(i int) *Approval {
	l.Approvals = slices.Clone(l.Approvals)
	return &l.Approvals[i]
}

// dropOldApprovals keeps the approvals of the current turn, and at most MaxKeptApprovals resolved ones.
func (l *ApprovalList) dropOldApprovals(turn int64) {
	resolved := 0
	for _, a := range l.Approvals {
		if a.Status.Resolved() {
			resolved++
		}
	}
	old := 0
	for resolved-old > limits.MaxKeptApprovals && l.Approvals[old].Turn != turn {
		old++
	}
	if old > 0 {
		l.Approvals = slices.Clone(l.Approvals[old:])
	}
}

// approvalSeq returns the seq in the id of an approval of this conversation, or of its Lender. It returns 0 for other
// conversations, if the id of this one is known.
func approvalSeq(s *State, id string) int64 {
	conversation, seq, ok := eventdata.ParseApprovalID(id)
	if !ok || s.ID != "" && conversation != cmp.Or(s.Lender, s.ID) {
		return 0
	}
	return seq
}

// applyApproval applies an event of one of the four kinds.
func applyApproval(s *State, e *parley.Event, sys *parley.System, size int) error {
	r := sys.Approval
	if r == nil {
		return fmt.Errorf("%s without an approval", sys.Kind)
	}
	if sys.Kind == parley.KindApprovalRequested {
		return applyRequested(s, e, sys, size)
	}
	seq := approvalSeq(s, r.ApprovalID)
	i := s.ApprovalIndex(seq)
	if i < 0 || s.Approvals[i].AgentID != sys.AgentID || s.Approvals[i].Turn != sys.Turn {
		return fmt.Errorf("%s of an approval that was not requested", sys.Kind)
	}
	switch {
	case sys.Kind == parley.KindApprovalResolved:
		return applyResolved(s, e, sys, i)
	case sys.Kind == parley.KindApprovalDetails && e.Seq != seq+1:
		return fmt.Errorf("%s does not follow its approval_requested", sys.Kind)
	case sys.Kind == parley.KindApprovalDetails:
		if s.approvalWithKey(s.CurrentTurn(), r.Key) >= 0 {
			return fmt.Errorf("the key of an approval twice in turn %d", sys.Turn)
		}
		if !s.editApproval(i).addDetails(r) {
			return errors.New("approval_details without a key or hash")
		}
	case s.Approvals[i].Status != parley.ApprovalApproved || e.Seq != s.Approvals[i].ResolvedSeq+1 ||
		!s.Approvals[i].Schema || len(r.Answer) == 0:
		return errors.New("an answer that does not follow its approval")
	default:
		s.editApproval(i).addAnswer(r)
	}
	s.Bytes += int64(size)
	return nil
}

func applyRequested(s *State, e *parley.Event, sys *parley.System, size int) error {
	if err := s.requireClaim(sys); err != nil {
		return err
	}
	a := newApproval(e, sys)
	lender, _, _ := eventdata.ParseApprovalID(sys.Approval.ApprovalID)
	if s.ID != "" && lender != s.ID && len(s.Approvals) == 0 && s.Lender == "" {
		s.Lender = lender
	}
	switch {
	case sys.AgentID != s.Claim.AgentID || sys.Turn != s.Claim.Turn:
		return fmt.Errorf("%s requests an approval in turn %d, which it has not claimed", sys.AgentID, sys.Turn)
	case approvalSeq(s, sys.Approval.ApprovalID) != e.Seq || a.ExpiresAt <= e.At:
		return errors.New("approval_requested without its id or an end")
	}
	s.Approvals = append(slices.Clip(s.Approvals), a)
	s.ActiveAt = e.At
	s.count(size) // else a participant could request any number of approvals
	s.dropOldApprovals(s.CurrentTurn())
	return nil
}

// applyResolved renews the claim with the last approval for which it waited. Without a claim the turn is offered again.
func applyResolved(s *State, e *parley.Event, sys *parley.System, i int) error {
	switch r := sys.Approval; {
	case s.Approvals[i].Status.Resolved():
		return errors.New("an approval is resolved twice")
	case !slices.Contains(loggedEnds, r.Status) || (r.Status == parley.ApprovalTimedOut) != (r.By == ""):
		return fmt.Errorf("an approval is resolved as %q by %q", r.Status, r.By)
	}
	s.editApproval(i).resolve(e, sys.Approval)
	s.ActiveAt = e.At
	switch {
	case s.AwaitsApproval():
		if sys.DurationMs != 0 {
			return errors.New("a claim is renewed while its turn waits for another approval")
		}
	case s.Claim == nil:
		s.FloorSeq = e.Seq
	case sys.DurationMs < 1:
		return errors.New("approval_resolved without a duration")
	default:
		s.renewClaim(e, sys.DurationMs, s.Claim.HeldMs, s.Claim.Lost)
	}
	return nil
}

// loggedEnds are the ends of approvals that have a separate event.
var loggedEnds = []parley.ApprovalStatus{parley.ApprovalApproved, parley.ApprovalRejected, parley.ApprovalTimedOut}

// cancelApprovals ends the pending approvals with the event that ends their turn.
func cancelApprovals(s *State, e *parley.Event) {
	if !s.AwaitsApproval() {
		return
	}
	s.Approvals = slices.Clone(s.Approvals)
	for i := range s.Approvals {
		if a := &s.Approvals[i]; !a.Status.Resolved() {
			a.Status, a.ResolvedSeq = parley.ApprovalCanceled, e.Seq
		}
	}
	s.ActiveAt = e.At
}

// newApproval returns the approval of an approval_requested.
func newApproval(e *parley.Event, sys *parley.System) Approval {
	return Approval{
		Seq: e.Seq, Turn: sys.Turn, AgentID: sys.AgentID, RequestedAt: e.At, ExpiresAt: sys.Approval.ExpiresAt,
		Status: parley.ApprovalPending,
	}
}

// addDetails adds the data of approval_details.
func (a *Approval) addDetails(r *parley.ApprovalRecord) bool {
	hash, err := hex.DecodeString(r.Hash)
	if err != nil || len(hash) != len(a.Hash) || r.Key == "" {
		return false
	}
	a.Key, a.Hash, a.TokenID, a.Account, a.Schema = r.Key, [16]byte(hash), r.TokenID, r.Account, len(r.AnswerSchema) > 0
	return true
}

// resolve adds the data of approval_resolved.
func (a *Approval) resolve(e *parley.Event, r *parley.ApprovalRecord) {
	a.Status, a.ResolvedSeq = r.Status, e.Seq
	a.Retry = digestAnswer(e.ClientRequestID, r.By, r.Status, r.Comment)
}

// addAnswer adds the data of approval_answer.
func (a *Approval) addAnswer(r *parley.ApprovalRecord) { a.Retry = extendDigest(a.Retry, r.Answer) }

// digestAnswer returns the digest of an answer with a key, or zero without a key.
func digestAnswer(key, by string, status parley.ApprovalStatus, comment string) [16]byte {
	if key == "" {
		return [16]byte{}
	}
	return idempotency.DigestTexts(key, by, string(status), comment)
}

func extendDigest(before [16]byte, answer json.RawMessage) [16]byte {
	if before == ([16]byte{}) || len(answer) == 0 {
		return before
	}
	return idempotency.DigestTexts(string(before[:]), string(answer))
}

// PastApproval is an approval that the state dropped. ReadEvent reads it from the events that begin
// with its approval_requested, in order.
type PastApproval struct {
	Approval
	id string
}

// ReadEvent reads the next event. It reports whether the approval ended with it, or whether there is no
// approval.
func (p *PastApproval) ReadEvent(conversation string, e *parley.Event) (over bool, err error) {
	var sys parley.System
	if e.Type == parley.TypeSystem {
		if sys, err = e.System(); err != nil {
			return true, err
		}
	}
	r := sys.Approval
	switch {
	case p.Seq == 0 && (sys.Kind != parley.KindApprovalRequested || r == nil):
		return true, nil
	case p.Seq == 0:
		p.Approval, p.id = newApproval(e, &sys), eventdata.ApprovalID(conversation, e.Seq)
	case e.Finality.Final() && e.Turn == p.Turn, e.Closes(), sys.Kind == parley.KindTurnEnded && sys.Turn == p.Turn:
		if !p.Status.Resolved() {
			p.Status, p.ResolvedSeq = parley.ApprovalCanceled, e.Seq
		}
		return true, nil
	case r == nil || r.ApprovalID != p.id:
	case sys.Kind == parley.KindApprovalDetails:
		p.addDetails(r)
	case sys.Kind == parley.KindApprovalResolved:
		p.resolve(e, r)
	case sys.Kind == parley.KindApprovalAnswer:
		p.addAnswer(r)
	}
	return p.Status.Resolved() && e.Seq > p.ResolvedSeq, nil
}
