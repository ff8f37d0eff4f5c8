package fold

import (
	"encoding/hex"
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/fold/idempotency"
	"github.com/parleyhub/parley/internal/limits"
)

// decide requires the claim of an append. A request with a key that was used in this turn is a
// repetition, in any attempt of the turn.
func (q *RequestApproval) decide(d *decision) {
	if d.expireApprovals(d.now()); !d.checkAppend(0, nil) || !q.checkClaimed(d) {
		return
	}
	q.Hash = ""
	hash := idempotency.DigestTexts(q.Title, string(q.Details), string(q.AnswerSchema))
	if i := d.s.approvalWithKey(d.s.CurrentTurn(), q.Key); i >= 0 {
		a := &d.s.Approvals[i]
		if a.Hash != hash {
			d.refuse(parley.ErrIdempotencyConflict,
				fmt.Sprintf("the key %q was used in this turn at seq %d with another title, details or answerSchema",
					q.Key, a.Seq), "a new key")
			return
		}
		d.out.Seq, d.out.Turn, d.out.Duplicate = a.Seq, d.s.CurrentTurn(), true
		return
	}
	if q.checkBounds(d) {
		q.add(d, hash)
	}
}

// checkClaimed refuses callers without a claim.
func (q *RequestApproval) checkClaimed(d *decision) bool {
	if d.s.Claim != nil {
		return true
	}
	if seat := d.s.Participants[d.s.Seat(d.c.From)]; !seat.Kind.Claims() {
		d.refuse(parley.ErrForbidden,
			fmt.Sprintf("%s is a %s: only agents and tools ask for approvals", seat.ID, seat.Kind), "")
		return false
	}
	d.refuseTurn(parley.ErrClaimRequired, "an approval is requested under a claim, and the turn has no claim",
		"claimTurn first")
	return false
}

// checkBounds refuses more approvals of the turn than its bounds allow.
func (q *RequestApproval) checkBounds(d *decision) bool {
	pending, all := 0, 0
	for _, a := range d.s.Approvals {
		if a.Turn != d.s.CurrentTurn() {
			continue
		}
		if all++; !a.Status.Resolved() {
			pending++
		}
	}
	switch {
	case pending >= limits.MaxPendingApprovals:
		d.refuse(parley.ErrTooLarge, fmt.Sprintf("%d approvals of the turn are pending", pending),
			fmt.Sprintf("at most %d", limits.MaxPendingApprovals))
	case all >= limits.MaxTurnApprovals:
		d.refuse(parley.ErrTooLarge, fmt.Sprintf("the turn requested %d approvals before", all),
			fmt.Sprintf("at most %d", limits.MaxTurnApprovals))
	default:
		return true
	}
	return false
}

// add adds the request for all readers, and its details for those who decide.
func (q *RequestApproval) add(d *decision, hash [16]byte) {
	seq, claim := d.s.Seq+1, d.s.Claim
	id := eventdata.ApprovalID(d.s.ID, seq)
	request := parley.System{
		Kind: parley.KindApprovalRequested, Turn: claim.Turn, AgentID: d.c.From, ClaimHash: claim.Hash.String(),
		Approval: &parley.ApprovalRecord{
			ApprovalID: id, Title: q.Title, ExpiresAt: d.now() + parley.Timestamp(q.ExpiresInMs),
		},
	}
	details := parley.System{
		Kind: parley.KindApprovalDetails, Turn: claim.Turn, AgentID: d.c.From,
		Approval: &parley.ApprovalRecord{
			ApprovalID: id, Key: q.Key, Details: q.Details, AnswerSchema: q.AnswerSchema, Hash: hex.EncodeToString(hash[:]),
			TokenID: q.TokenID, Account: q.Account,
		},
	}
	if !d.add(systemEvent(request)) || !d.add(systemEvent(details)) {
		d.undo()
		return
	}
	d.out.Seq, d.out.Turn = seq, claim.Turn
	d.closeAtLimit()
}

// findResult decides an answer to an approval that is resolved, also after the close. It returns the first result to
// a retry, and refuses any other answer.
func (q *ResolveApproval) findResult(d *decision) bool {
	i := d.s.ApprovalIndex(q.Seq)
	if i < 0 || !d.s.Approvals[i].Status.Resolved() {
		return false
	}
	a := &d.s.Approvals[i]
	if a.IsAnswer(d.c.Key, &q.ApprovalRecord) {
		d.out.Seq, d.out.Turn, d.out.Duplicate = a.Seq, a.Turn, true
	} else {
		d.out.Err = a.Refusal()
	}
	return true
}

// IsAnswer reports whether an answer with a key, and with Status, By, Comment and Answer of r, is the
// answer of the approval.
func (a *Approval) IsAnswer(key string, r *parley.ApprovalRecord) bool {
	return key != "" && a.Retry == extendDigest(digestAnswer(key, r.By, r.Status, r.Comment), r.Answer)
}

// Refusal refuses an answer to an approval that is resolved.
func (a *Approval) Refusal() error {
	how := map[parley.ApprovalStatus]string{
		parley.ApprovalApproved: "the approval was answered already: approved",
		parley.ApprovalRejected: "the approval was answered already: rejected",
		parley.ApprovalTimedOut: "the approval has timed out before it was answered",
		parley.ApprovalCanceled: "the approval was canceled: its turn ended before it was answered",
	}[a.Status]
	return parley.Refuse(parley.ErrAlreadyResolved, how+fmt.Sprintf(" (seq %d)", a.ResolvedSeq), "")
}

// decide adds an answer. The caller was found to be one that may resolve the approval.
func (q *ResolveApproval) decide(d *decision) {
	if d.expireApprovals(d.now()); q.findResult(d) {
		return
	}
	i := d.s.ApprovalIndex(q.Seq)
	switch {
	case i < 0:
		d.refuse(parley.ErrNotFound, "there is no such approval", "")
	case len(q.Answer) > 0 && !d.s.Approvals[i].Schema:
		d.refuse(parley.ErrValidationFailed, "answer: the approval takes none, because it has no answerSchema", "no answer")
	default:
		q.add(d, d.s.Approvals[i])
	}
}

func (q *ResolveApproval) add(d *decision, a Approval) {
	if !d.addApprovalEnd(&a, parley.ApprovalRecord{Status: q.Status, By: q.By, Comment: q.Comment}, d.c.Key) {
		return
	}
	if len(q.Answer) > 0 {
		ok := d.add(systemEvent(parley.System{
			Kind: parley.KindApprovalAnswer, Turn: a.Turn, AgentID: a.AgentID,
			Approval: &parley.ApprovalRecord{ApprovalID: eventdata.ApprovalID(d.s.ID, a.Seq), Answer: q.Answer},
		}))
		if !ok {
			d.undo()
			return
		}
	}
	d.out.Seq, d.out.Turn = a.Seq, a.Turn
	d.closeAtLimit()
}

// addApprovalEnd adds approval_resolved. The last approval for which the turn waits renews its claim. The
// time of the wait counts neither for the duration of the claim nor for maxClaimMs.
func (d *decision) addApprovalEnd(a *Approval, r parley.ApprovalRecord, key string) bool {
	r.ApprovalID = eventdata.ApprovalID(d.s.ID, a.Seq)
	sys := parley.System{Kind: parley.KindApprovalResolved, Turn: a.Turn, AgentID: a.AgentID, Approval: &r}
	if d.s.Claim != nil && len(d.s.Pending()) == 1 {
		sys.DurationMs = max(1, d.s.remainingMs(d.c.HeldMs))
	}
	e := systemEvent(sys)
	e.ClientRequestID = key
	return d.add(e)
}

// expireApprovals adds the ends of the approvals that have expired at a time.
func (d *decision) expireApprovals(by parley.Timestamp) {
	for _, a := range d.s.Pending() {
		if a.ExpiresAt <= by && !d.addApprovalEnd(&a, parley.ApprovalRecord{Status: parley.ApprovalTimedOut}, "") {
			return
		}
	}
}
