package parley

// ClaimEnd is how a claim ended.
type ClaimEnd string

// The values of ClaimEnd. An event claim_ended records the first seven. The others are implied by
// the event that ended the turn or the conversation. "Failure" marks those that count as a failed
// attempt.
const (
	ClaimExpired      ClaimEnd = "expired"      // failure: not renewed in time
	ClaimDeclined     ClaimEnd = "declined"     // failure: released for another executor
	ClaimSilent       ClaimEnd = "silent"       // failure: the agent returned without a final message
	ClaimFailed       ClaimEnd = "failed"       // failure: the agent returned an error
	ClaimDisconnected ClaimEnd = "disconnected" // failure: the connection of the executor was lost
	ClaimRestarted    ClaimEnd = "restarted"    // the executor was in the process of a hub that restarted
	ClaimYielded      ClaimEnd = "yielded"      // the agent yielded its turn
	ClaimFinal        ClaimEnd = "final"        // the final message was posted
	ClaimTurnEnded    ClaimEnd = "turn_ended"   // the turn was canceled or skipped
	ClaimClosed       ClaimEnd = "closed"       // the conversation was closed
)

// ClaimEnds has all values of ClaimEnd.
var ClaimEnds = []ClaimEnd{
	ClaimExpired, ClaimDeclined, ClaimSilent, ClaimFailed, ClaimDisconnected, ClaimRestarted, ClaimYielded, ClaimFinal,
	ClaimTurnEnded, ClaimClosed,
}

// IsAttempt reports whether a claim that ended this way counts as a failed attempt.
func (e ClaimEnd) IsAttempt() bool {
	switch e {
	case ClaimExpired, ClaimDeclined, ClaimSilent, ClaimFailed, ClaimDisconnected:
		return true
	}
	return false
}

// TurnEnd is why a turn ended without a final message.
type TurnEnd string

// The values of TurnEnd.
const (
	TurnYielded  TurnEnd = "yielded"  // by its agent
	TurnSkipped  TurnEnd = "skipped"  // by limits.onTurnTimeout
	TurnCanceled TurnEnd = "canceled" // by cancelTurn
)

// ClaimState is the current claim of a turn.
type ClaimState struct {
	AgentID    string `json:"agentId"`
	ExecutorID string `json:"executorId,omitempty"`
	// Attempt is 1 unless earlier claims of this turn failed.
	Attempt int `json:"attempt"`
	// DeadlineMs is when the claim expires unless it is renewed, in Unix milliseconds. It is
	// approximate, and for information only.
	DeadlineMs int64 `json:"deadlineMs"`
}

// ClaimTurnParams claim a turn: with the ClaimID of a request_turn, or with Turn alone as the
// participant that has the floor.
type ClaimTurnParams struct {
	ConversationID string `json:"conversationId"`
	ClaimID        string `json:"claimId,omitempty"`
	Turn           int64  `json:"turn,omitempty"`
}

// ClaimTurnResult is the claim. Keep ClaimID: it proves the claim, and no one else receives it.
type ClaimTurnResult struct {
	ClaimID string `json:"claimId"`
	AgentID string `json:"agentId"`
	Turn    int64  `json:"turn"`
	Attempt int    `json:"attempt"`
	// SinceSeq is the seq of the last message with which AgentID ended a turn, or 0.
	SinceSeq int64 `json:"sinceSeq"`
	// DeadlineMs is when the claim expires unless it is renewed, in Unix milliseconds of hub time. It
	// is approximate. DurationMs is the time until then, and MaxClaimMs is the maximum duration of the
	// claim with all renewals.
	DeadlineMs int64 `json:"deadlineMs"`
	DurationMs int64 `json:"durationMs"`
	MaxClaimMs int64 `json:"maxClaimMs"`
	// Duplicate is true if the caller already had this claim.
	Duplicate bool `json:"duplicate,omitempty"`
	// Traceparent is the parent for spans of the executor: the span of the turn, or of the event that
	// the turn answers. It is empty if there is no such span.
	Traceparent string `json:"traceparent,omitempty"`
}

// RenewClaimParams extend a claim.
type RenewClaimParams struct {
	ConversationID string `json:"conversationId"`
	ClaimID        string `json:"claimId"`
}

// RenewClaimResult has the new deadline of the claim in Unix milliseconds of hub time, and the time
// until then. The deadline is never later than the maxClaimMs of the claim allows.
type RenewClaimResult struct {
	DeadlineMs int64 `json:"deadlineMs"`
	DurationMs int64 `json:"durationMs"`
}

// ReleaseOutcome is why an executor releases a claim.
type ReleaseOutcome string

// The values of ReleaseOutcome.
const (
	ReleaseYield   ReleaseOutcome = "yield"   // the agent yields: the turn ends, and its messages remain
	ReleaseDecline ReleaseOutcome = "decline" // another executor should take the turn
	ReleaseSilent  ReleaseOutcome = "silent"  // the agent returned without a final message
	ReleaseFailed  ReleaseOutcome = "failed"  // the agent returned an error
)

// Ends returns how a claim that is released with o ends. It returns false if o is not valid.
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

// ReleaseClaimParams release a claim.
type ReleaseClaimParams struct {
	ConversationID string         `json:"conversationId"`
	ClaimID        string         `json:"claimId"`
	Outcome        ReleaseOutcome `json:"outcome"`
	// Reason is a word or sentence of at most 1 KiB that all participants can read.
	Reason string `json:"reason,omitempty"`
}

// CancelTurnParams end a turn without a final message. Human participants, the author of the last
// message before the turn, and admins may do that.
type CancelTurnParams struct {
	ConversationID string `json:"conversationId"`
	// Turn is the open turn, or the next one if it belongs to one participant.
	Turn int64 `json:"turn"`
	// Reason is a word or sentence of at most 1 KiB that all participants can read.
	Reason string `json:"reason,omitempty"`
}

// ClaimRef identifies a claim.
type ClaimRef struct {
	ConversationID string `json:"conversationId"`
	ClaimID        string `json:"claimId"`
}
