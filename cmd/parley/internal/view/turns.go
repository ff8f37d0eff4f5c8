package view

import (
	"cmp"
	"fmt"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
)

// systemText describes a system event of a turn in one line. It returns unknown kinds unchanged.
func (v *Printer) systemText(e *parley.Event, s parley.System) string {
	switch s.Kind {
	case parley.KindTurnClaimed:
		return fmt.Sprintf("turn %d: %s is at work%s, for %s or until renewed",
			s.Turn, cli.Clean(s.AgentID), workText(executorText(s.Runner, s.ExecutorID), s.Attempt), milliseconds(s.DurationMs))
	case parley.KindClaimRenewed:
		if parley.ClaimEnd(s.Reason) == parley.ClaimDisconnected {
			return fmt.Sprintf("turn %d: its executor is not connected, and has %s to be back", s.Turn,
				milliseconds(s.DurationMs))
		}
		return fmt.Sprintf("turn %d: renewed for %s", s.Turn, milliseconds(s.DurationMs))
	case parley.KindClaimEnded:
		return fmt.Sprintf("turn %d: %s%s%s", s.Turn, claimEndText(parley.ClaimEnd(s.Reason)), detailText(s.Detail),
			withdrawnText(e.Seq, s.ResetFrom))
	case parley.KindTurnEnded:
		return fmt.Sprintf("turn %d of %s ended without a final message: %s%s", s.Turn, cli.Clean(s.AgentID),
			cli.Clean(s.Reason), detailText(s.Detail))
	case parley.KindTurnReoffered:
		return fmt.Sprintf("turn %d is offered to %s again", s.Turn, cli.Clean(s.AgentID))
	case parley.KindSessionStarted, parley.KindSessionEnded, parley.KindSessionBound:
		return sessionEventText(e, s)
	case parley.KindTriggerMatched, parley.KindTriggerEnded:
		return triggerText(e, s)
	case parley.KindApprovalRequested, parley.KindApprovalDetails, parley.KindApprovalResolved, parley.KindApprovalAnswer:
		return approvalText(e, s)
	}
	return cli.Clean(s.Kind) + " " + cli.Clean(string(e.Payload))
}

// claimEndText describes how an attempt at a turn ended.
func claimEndText(end parley.ClaimEnd) string {
	switch {
	case end == parley.ClaimYielded:
		return "passed on"
	case end.IsAttempt():
		return "the attempt failed: " + cli.Clean(string(end))
	}
	return "the attempt ended: " + cli.Clean(string(end))
}

// withdrawnText says which words count no more: those from a seq on to the event at seq.
func withdrawnText(seq, from int64) string {
	switch {
	case from == 0:
		return ""
	case from >= seq-1:
		return fmt.Sprintf("; what it said, #%d, is withdrawn", from)
	}
	return fmt.Sprintf("; what it said, #%d to #%d, is withdrawn", from, seq-1)
}

func detailText(detail string) string {
	if detail == "" {
		return ""
	}
	return ", " + cli.Clean(detail)
}

// executorText names the executor. It includes the runner if that differs from the seat, whose name
// is chosen by the creator of the conversation.
func executorText(runner, executor string) string {
	if runner != "" && executor != "" && runner != executor {
		return runner + " (" + executor + ")"
	}
	return cmp.Or(runner, executor)
}

// workText is the last part of the description of a claim.
func workText(executor string, attempt int) (text string) {
	if executor != "" {
		text += " as " + cli.Clean(executor)
	}
	if attempt > 0 {
		text += fmt.Sprintf(", attempt %d", attempt)
	}
	return text
}

// ClaimText is such as "at work as e1, attempt 2".
func ClaimText(c *parley.ClaimState) string {
	return "at work" + workText(c.ExecutorID, c.Attempt)
}

// AgentText says which agent sits on a seat and where it may run, as far as that was chosen.
func AgentText(p parley.Participant) (text string) {
	if p.Agent != "" && p.Agent != p.ID {
		text = "agent " + cli.Clean(p.Agent)
	}
	if p.Executor == "" || p.Executor == parley.ExecutorAny {
		return text
	}
	if text != "" {
		text += ", "
	}
	return text + cli.Clean(string(p.Executor))
}

// PolicyText names a policy, with who moderates and how many rules there are.
func PolicyText(p parley.Policy) string {
	text := cli.Clean(string(p.Kind))
	if p.Moderator != "" {
		text += " " + cli.Clean(p.Moderator)
	}
	if n := int64(len(p.Rules)); n > 0 {
		text += fmt.Sprintf(" (%d)", n)
	}
	return text
}

func milliseconds(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
