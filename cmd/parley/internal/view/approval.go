package view

import (
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
)

// approvalText describes a system event of an approval.
func approvalText(e *parley.Event, s parley.System) string {
	switch {
	case s.Approval == nil:
	case s.Kind == parley.KindApprovalRequested:
		return ApprovalRequestText(s.AgentID, s.Approval)
	case s.Kind == parley.KindApprovalDetails:
		text := cli.Clean(s.Approval.ApprovalID) + " is about " + cli.Clean(detailsText(s.Approval.Details))
		if len(s.Approval.AnswerSchema) > 0 {
			text += ", and takes an answer"
		}
		return text
	case s.Kind == parley.KindApprovalResolved:
		return ApprovalEndText(s.Approval)
	case s.Kind == parley.KindApprovalAnswer:
		return cli.Clean(s.Approval.ApprovalID) + " is answered with " + cli.Clean(string(s.Approval.Answer))
	}
	return cli.Clean(s.Kind) + " " + cli.Clean(string(e.Payload))
}

// ApprovalRequestText describes a request for approval.
func ApprovalRequestText(agent string, r *parley.ApprovalRecord) string {
	return fmt.Sprintf("%s asks: %s (%s, until %s)", cli.Clean(agent), cli.Clean(r.Title), cli.Clean(r.ApprovalID),
		r.ExpiresAt)
}

// ApprovalEndText describes how an approval ended.
func ApprovalEndText(r *parley.ApprovalRecord) string {
	text := cli.Clean(r.ApprovalID) + " "
	switch r.Status {
	case parley.ApprovalTimedOut:
		text += "has timed out: not approved"
	case parley.ApprovalCanceled:
		text += "is canceled: its turn is over"
	default:
		text += "is " + cli.Clean(string(r.Status))
	}
	if r.By != "" {
		text += " by " + cli.Clean(r.By)
	}
	if r.Comment != "" {
		text += ": " + cli.Clean(r.Comment)
	}
	return text
}

// detailsText is what is asked for, where it was said.
func detailsText(details []byte) string {
	if len(details) == 0 {
		return "what its title says"
	}
	return string(details)
}
