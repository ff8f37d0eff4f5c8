package fold

import (
	"cmp"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/fold/idempotency"
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

// approvalSeq returns the seq in the id of an approval of this conversation, or of the one that
// shares these events with it. It returns 0 for other conversations, if the id of this one is
// known.
func (s *State) approvalSeq(id string) int64 {
	conversation, seq, ok := eventdata.ParseApprovalID(id)
	if !ok || s.ID != "" && conversation != cmp.Or(s.Lender, s.ID) {
		return 0
	}
	return seq
}

// borrows sets Lender if the first approval belongs to another conversation. Then both
// conversations share the events so far.
func (s *State) setLender(id string) {
	conversation, _, _ := eventdata.ParseApprovalID(id)
	if s.ID != "" && conversation != s.ID && len(s.Approvals) == 0 && s.Lender == "" {
		s.Lender = conversation
	}
}

// Approval returns the index in Approvals of the one that was requested at a seq, or -1.
func (s *State) ApprovalIndex(seq int64) int {
	i, found := slices.BinarySearchFunc(s.Approvals, seq, func(a Approval, seq int64) int { return int(a.Seq - seq) })
	if !found {
		return -1
	}
	return i
}

// Pending returns the pending approvals in the order of their requests. All of them are of the
// current turn and of one participant.
func (s *State) Pending() []Approval {
	var pending []Approval
	for _, a := range s.Approvals {
		if !a.Status.Resolved() {
			pending = append(pending, a)
		}
	}
	return pending
}

// asks returns the last pending approval, or nil. It is called for every append.
func (s *State) pendingApproval() *Approval {
	for i := len(s.Approvals) - 1; i >= 0; i-- {
		if a := &s.Approvals[i]; a.Turn != s.CurrentTurn() {
			return nil // the earlier ones are of turns that have ended
		} else if !a.Status.Resolved() {
			return a
		}
	}
	return nil
}

// Awaits reports whether the current turn waits for an approval. Then no time limit of its claim
// runs. If the claim ends, no executor can claim the turn until all approvals are resolved.
func (s *State) AwaitsApproval() bool { return s.pendingApproval() != nil }

// expires returns the earliest end of a pending approval, or 0.
func (s *State) firstExpiry() parley.Timestamp {
	var first parley.Timestamp
	for i := len(s.Approvals) - 1; i >= 0 && s.Approvals[i].Turn == s.CurrentTurn(); i-- {
		if a := &s.Approvals[i]; !a.Status.Resolved() && (first == 0 || a.ExpiresAt < first) {
			first = a.ExpiresAt
		}
	}
	return first
}

// Wakes returns the time at which a limit closes the conversation or an approval ends, whichever is
// first, or 0.
func (s *State) NextDeadline() parley.Timestamp {
	at, _ := s.due()
	if s.Closed() || !s.Exists() {
		return 0
	}
	if e := s.firstExpiry(); e > 0 && (at == 0 || e < at) {
		return e
	}
	return at
}

// suspendedUntil returns the latest end of the claim of a turn that waits for approvals.
func (s *State) suspendedUntil() parley.Timestamp {
	var last parley.Timestamp
	for _, a := range s.Pending() {
		last = max(last, a.ExpiresAt)
	}
	return last + parley.Timestamp(s.Limits.TurnTimeout())
}

// change copies the approvals and returns the one at an index, which may be changed.
func (s *State) editApproval(i int) *Approval {
	s.Approvals = slices.Clone(s.Approvals)
	return &s.Approvals[i]
}

// owesDetails reports whether the last event is an approval_requested.
func (s *State) lacksDetails() bool {
	n := len(s.Approvals)
	return n > 0 && s.Approvals[n-1].Seq == s.Seq
}

// applyApproval applies an event of one of the four kinds.
func (s *State) applyApproval(e *parley.Event, sys *parley.System, size int) error {
	r := sys.Approval
	if r == nil {
		return fmt.Errorf("event %d: %s without an approval", e.Seq, sys.Kind)
	}
	if sys.Kind == parley.KindApprovalRequested {
		return s.applyRequested(e, sys, size)
	}
	seq := s.approvalSeq(r.ApprovalID)
	i := s.ApprovalIndex(seq)
	if i < 0 || s.Approvals[i].AgentID != sys.AgentID || s.Approvals[i].Turn != sys.Turn {
		return fmt.Errorf("event %d: %s of an approval that was not asked for", e.Seq, sys.Kind)
	}
	switch {
	case sys.Kind == parley.KindApprovalResolved:
		return s.applyResolved(e, sys, i)
	case sys.Kind == parley.KindApprovalDetails && e.Seq != seq+1:
		return fmt.Errorf("event %d: %s does not follow its approval_requested", e.Seq, sys.Kind)
	case sys.Kind == parley.KindApprovalDetails:
		if s.approvalWithKey(r.Key) >= 0 {
			return fmt.Errorf("event %d: the key of an approval twice in turn %d", e.Seq, sys.Turn)
		}
		if !s.editApproval(i).detail(r) {
			return fmt.Errorf("event %d: approval_details without a key or hash", e.Seq)
		}
	case s.Approvals[i].Status != parley.ApprovalApproved || e.Seq != s.Approvals[i].ResolvedSeq+1 ||
		!s.Approvals[i].Schema || len(r.Answer) == 0:
		return fmt.Errorf("event %d: an answer that does not follow its approval", e.Seq)
	default:
		s.editApproval(i).answer(r)
	}
	s.Bytes += int64(size)
	return nil
}

func (s *State) applyRequested(e *parley.Event, sys *parley.System, size int) error {
	if err := s.checkClaim(e, sys); err != nil {
		return err
	}
	a := newApproval(e, sys)
	s.setLender(sys.Approval.ApprovalID)
	switch {
	case sys.AgentID != s.Claim.AgentID || sys.Turn != s.Claim.Turn:
		return fmt.Errorf("event %d: %s asks in turn %d, which it has not claimed", e.Seq, sys.AgentID, sys.Turn)
	case s.approvalSeq(sys.Approval.ApprovalID) != e.Seq || a.ExpiresAt <= e.At:
		return fmt.Errorf("event %d: approval_requested without its id or an end", e.Seq)
	}
	s.Approvals = append(slices.Clip(s.Approvals), a)
	s.ActiveAt = e.At
	s.Events++ // else a participant could request any number of approvals
	s.Bytes += int64(size)
	s.forgetApprovals()
	return nil
}

// keyed returns the index of the approval of the current turn with a key, or -1.
func (s *State) approvalWithKey(key string) int {
	return slices.IndexFunc(s.Approvals, func(a Approval) bool { return a.Turn == s.CurrentTurn() && a.Key == key })
}

// applyResolved renews the claim with the last approval for which it waited. Without a claim the
// turn is offered again.
func (s *State) applyResolved(e *parley.Event, sys *parley.System, i int) error {
	switch r := sys.Approval; {
	case s.Approvals[i].Status.Resolved():
		return fmt.Errorf("event %d: an approval is resolved twice", e.Seq)
	case !slices.Contains(loggedEnds, r.Status) || (r.Status == parley.ApprovalTimedOut) != (r.By == ""):
		return fmt.Errorf("event %d: an approval is resolved as %q by %q", e.Seq, r.Status, r.By)
	}
	s.editApproval(i).resolve(e, sys.Approval)
	s.ActiveAt = e.At
	switch {
	case s.AwaitsApproval():
		if sys.DurationMs != 0 {
			return fmt.Errorf("event %d: a claim goes on whose turn still waits", e.Seq)
		}
	case s.Claim == nil:
		s.FloorSeq = e.Seq
	case sys.DurationMs < 1:
		return fmt.Errorf("event %d: approval_resolved without a duration", e.Seq)
	default:
		c := *s.Claim
		c.RenewedSeq, c.RenewedAt, c.DurationMs = e.Seq, e.At, sys.DurationMs
		s.Claim = &c
	}
	return nil
}

// loggedEnds are the ends of approvals that have a separate event.
var loggedEnds = []parley.ApprovalStatus{parley.ApprovalApproved, parley.ApprovalRejected, parley.ApprovalTimedOut}

// cancelApprovals ends the pending approvals with the event that ends their turn.
func (s *State) cancelApprovals(e *parley.Event) {
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

// forgetApprovals drops old approvals. It keeps those of the current turn, and at most
// MaxKeptApprovals resolved ones.
func (s *State) forgetApprovals() {
	resolved := 0
	for _, a := range s.Approvals {
		if a.Status.Resolved() {
			resolved++
		}
	}
	old := 0
	for resolved-old > parley.MaxKeptApprovals && s.Approvals[old].Turn != s.CurrentTurn() {
		old++
	}
	if old > 0 {
		s.Approvals = slices.Clone(s.Approvals[old:])
	}
}

// requested returns the approval of an approval_requested.
func newApproval(e *parley.Event, sys *parley.System) Approval {
	return Approval{
		Seq: e.Seq, Turn: sys.Turn, AgentID: sys.AgentID, RequestedAt: e.At, ExpiresAt: sys.Approval.ExpiresAt,
		Status: parley.ApprovalPending,
	}
}

// detail adds the data of approval_details.
func (a *Approval) detail(r *parley.ApprovalRecord) bool {
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

// answer adds the data of approval_answer.
func (a *Approval) answer(r *parley.ApprovalRecord) { a.Retry = extendDigest(a.Retry, r.Answer) }

// retry returns the digest of an answer with a key, or zero without a key.
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

// questionHash returns the digest of a request, to compare requests with the same key.
func questionHash(r *parley.ApprovalRecord) [16]byte {
	return idempotency.DigestTexts(r.Title, string(r.Details), string(r.AnswerSchema))
}

// PastApproval is an approval that the state has dropped. See reads it from the events that begin
// with its approval_requested, in order.
type PastApproval struct {
	Approval
	id string
}

// See reads the next event. It reports whether the approval ended with it, or whether there is no
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
		p.detail(r)
	case sys.Kind == parley.KindApprovalResolved:
		p.resolve(e, r)
	case sys.Kind == parley.KindApprovalAnswer:
		p.answer(r)
	}
	return p.Status.Resolved() && e.Seq > p.ResolvedSeq, nil
}
