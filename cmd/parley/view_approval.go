package main

import (
	"fmt"

	"github.com/parleyhub/parley"
)

// approvalText says what a system event tells of an approval.
func approvalText(e *parley.Event, s parley.System) string {
	switch {
	case s.Approval == nil:
	case s.Kind == parley.KindApprovalRequested:
		return approvalAskText(s.AgentID, s.Approval)
	case s.Kind == parley.KindApprovalDetails:
		text := clean(s.Approval.ApprovalID) + " is about " + clean(orNothing(s.Approval.Details))
		if len(s.Approval.AnswerSchema) > 0 {
			text += ", and takes an answer"
		}
		return text
	case s.Kind == parley.KindApprovalResolved:
		return approvalEndText(s.Approval)
	case s.Kind == parley.KindApprovalAnswer:
		return clean(s.Approval.ApprovalID) + " is answered with " + clean(string(s.Approval.Answer))
	}
	return clean(s.Kind) + " " + clean(string(e.Payload))
}

// approvalAskText says what somebody asks for.
func approvalAskText(agent string, r *parley.ApprovalRecord) string {
	return fmt.Sprintf("%s asks: %s (%s, until %s)", clean(agent), clean(r.Title), clean(r.ApprovalID), r.ExpiresAt)
}

// approvalEndText says how an approval has ended.
func approvalEndText(r *parley.ApprovalRecord) string {
	text := clean(r.ApprovalID) + " "
	switch r.Status {
	case parley.ApprovalTimedOut:
		text += "has timed out: not approved"
	case parley.ApprovalCanceled:
		text += "is canceled: its turn has ended"
	default:
		text += "is " + clean(string(r.Status))
	}
	if r.By != "" {
		text += " by " + clean(r.By)
	}
	if r.Comment != "" {
		text += ": " + clean(r.Comment)
	}
	return text
}

// orNothing is what is asked for, where it was said.
func orNothing(details []byte) string {
	if len(details) == 0 {
		return "what its title says"
	}
	return string(details)
}
