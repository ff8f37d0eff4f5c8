package parley

// ClaimEnd says how a claim ended.
type ClaimEnd string

// The ends of claims. The first seven are logged as claim_ended; the others come with the event that ended the turn or the conversation.
const (
	ClaimExpired      ClaimEnd = "expired"      // not renewed in time: an attempt
	ClaimDeclined     ClaimEnd = "declined"     // given back for another executor: an attempt
	ClaimSilent       ClaimEnd = "silent"       // the agent has ended without a final message: an attempt
	ClaimFailed       ClaimEnd = "failed"       // the agent has failed: an attempt
	ClaimDisconnected ClaimEnd = "disconnected" // its executor was lost: an attempt
	ClaimRestarted    ClaimEnd = "restarted"    // its executor was a part of a hub that was started again: no attempt
	ClaimYielded      ClaimEnd = "yielded"      // the agent has passed its turn on: no attempt
	ClaimFinal        ClaimEnd = "final"        // the final message was said
	ClaimTurnEnded    ClaimEnd = "turn_ended"   // the turn was canceled or skipped
	ClaimClosed       ClaimEnd = "closed"       // the conversation was closed
)

// ClaimEnds are all of them.
var ClaimEnds = []ClaimEnd{
	ClaimExpired, ClaimDeclined, ClaimSilent, ClaimFailed, ClaimDisconnected, ClaimRestarted, ClaimYielded, ClaimFinal, ClaimTurnEnded, ClaimClosed,
}

// IsAttempt reports whether a claim that ended so counts as a failed attempt.
func (e ClaimEnd) IsAttempt() bool {
	switch e {
	case ClaimExpired, ClaimDeclined, ClaimSilent, ClaimFailed, ClaimDisconnected:
		return true
	}
	return false
}

// TurnEnd says why a turn ended without a final message.
type TurnEnd string

// The values of TurnEnd.
const (
	TurnYielded  TurnEnd = "yielded"  // by its agent
	TurnSkipped  TurnEnd = "skipped"  // by limits.onTurnTimeout
	TurnCanceled TurnEnd = "canceled" // by cancelTurn
)

// ClaimState is the claim that stands.
type ClaimState struct {
	AgentID    string `json:"agentId"`
	ExecutorID string `json:"executorId,omitempty"`
	// Attempt is 1 unless earlier claims of this turn have failed.
	Attempt int `json:"attempt"`
	// DeadlineMs is about when it ends unless it is renewed, in Unix ms. Information only.
	DeadlineMs int64 `json:"deadlineMs"`
}

// ClaimTurnParams takes a turn: with the ClaimID of a request_turn, or with Turn alone as the participant that has the floor.
type ClaimTurnParams struct {
	ConversationID string `json:"conversationId"`
	ClaimID        string `json:"claimId,omitempty"`
	Turn           int64  `json:"turn,omitempty"`
}

// ClaimTurnResult is the claim. Keep ClaimID: it is the proof, and nobody else is told it.
type ClaimTurnResult struct {
	ClaimID string `json:"claimId"`
	AgentID string `json:"agentId"`
	Turn    int64  `json:"turn"`
	Attempt int    `json:"attempt"`
	// SinceSeq is the seq of the last message with which AgentID has ended a turn; 0 when there was none.
	SinceSeq int64 `json:"sinceSeq"`
	// DeadlineMs is about when it ends unless it is renewed, in Unix ms of hub time; DurationMs is how long that is from now, and MaxClaimMs how long
	// renewals can make it.
	DeadlineMs int64 `json:"deadlineMs"`
	DurationMs int64 `json:"durationMs"`
	MaxClaimMs int64 `json:"maxClaimMs"`
	// Duplicate is true when the claim was this caller's already.
	Duplicate bool `json:"duplicate,omitempty"`
	// Traceparent names the span of the turn, or of what the turn answers, for the spans of who takes it; empty where there is none.
	Traceparent string `json:"traceparent,omitempty"`
}

// RenewClaimParams keeps a claim for longer.
type RenewClaimParams struct {
	ConversationID string `json:"conversationId"`
	ClaimID        string `json:"claimId"`
}

// RenewClaimResult tells when the claim ends now, in Unix ms of hub time, and how long that is. It is never later than MaxClaimMs after it was taken.
type RenewClaimResult struct {
	DeadlineMs int64 `json:"deadlineMs"`
	DurationMs int64 `json:"durationMs"`
}

// ReleaseOutcome says why a claim is given back.
type ReleaseOutcome string

// The values of ReleaseOutcome.
const (
	ReleaseYield   ReleaseOutcome = "yield"   // the agent passes its turn on: the turn ends, what was said stays
	ReleaseDecline ReleaseOutcome = "decline" // another executor shall try
	ReleaseSilent  ReleaseOutcome = "silent"  // the agent has ended without a final message
	ReleaseFailed  ReleaseOutcome = "failed"  // the agent has failed
)

// Ends gives how a claim ends that is released so; false when o is none of the values.
func (o ReleaseOutcome) Ends() (ClaimEnd, bool) {
	switch o {
	case ReleaseYield:
		return ClaimYielded, true
	case ReleaseDecline:
		return ClaimDeclined, true
	case ReleaseSilent:
		return ClaimSilent, true
	case ReleaseFailed:
		return ClaimFailed, true
	}
	return "", false
}

// ReleaseClaimParams gives a claim back.
type ReleaseClaimParams struct {
	ConversationID string         `json:"conversationId"`
	ClaimID        string         `json:"claimId"`
	Outcome        ReleaseOutcome `json:"outcome"`
	// Reason is a word or sentence that all participants read: at most 1 KiB.
	Reason string `json:"reason,omitempty"`
}

// CancelTurnParams ends a turn without a final message. For human participants, for the author of the last message that was said before the turn, and
// for admins.
type CancelTurnParams struct {
	ConversationID string `json:"conversationId"`
	// Turn is the open turn, or the next one, if that belongs to one participant.
	Turn int64 `json:"turn"`
	// Reason is a word or sentence that all participants read: at most 1 KiB.
	Reason string `json:"reason,omitempty"`
}

// ClaimRef names a claim.
type ClaimRef struct {
	ConversationID string `json:"conversationId"`
	ClaimID        string `json:"claimId"`
}
