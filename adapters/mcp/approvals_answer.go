package mcp

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/parleyhub/parley"
)

type answerArgs struct {
	ApprovalID      string `json:"approval_id" jsonschema:"as list_approvals gives it"`
	Decision        string `json:"decision" jsonschema:"approved lets the agent do it; rejected does not"`
	Answer          any    `json:"answer,omitempty" jsonschema:"with approved, where there is an answer_schema: what matches it, such as edited arguments, by which the agent is to go"`
	Comment         string `json:"comment,omitempty" jsonschema:"a line that all participants read"`
	ClientRequestID string `json:"client_request_id,omitempty" jsonschema:"a key of your choice, which all participants read: the same call again with it tells the same. Without it, each call has one of its own"`
}

func refineAnswer(a *arguments) {
	a.length(1, maxApprovalID, "approval_id")
	a.length(0, parley.MaxReasonBytes, "comment")
	a.length(0, parley.MaxKeyBytes, "client_request_id")
	p := a.of("answer")
	p.Type = "" // whatever the answerSchema takes; said type by type, since some clients warn of a property that says nothing
	for _, kind := range []string{"object", "array", "string", "number", "boolean", "null"} {
		p.AnyOf = append(p.AnyOf, &jsonschema.Schema{Type: kind})
	}
	a.of("decision").Enum = []any{string(parley.DecisionApproved), string(parley.DecisionRejected)} // and no default
}

type answered struct {
	ApprovalID string `json:"approval_id"`
	Status     string `json:"status" jsonschema:"approved or rejected"`
	AnsweredBy string `json:"answered_by"`
	Duplicate  bool   `json:"duplicate" jsonschema:"an earlier call of yours had answered it so"`
	Next       string `json:"next"`
}

func (a *answered) text() string {
	s := fmt.Sprintf("%s is %s.", a.ApprovalID, a.Status)
	if a.Duplicate {
		s = fmt.Sprintf("%s was %s before, by an earlier call of yours; nothing was done now.", a.ApprovalID, a.Status)
	}
	return s + "\n" + a.Next
}

func answerApproval(ctx context.Context, c *call, in *answerArgs) (*answered, error) {
	h := hints{approval: in.ApprovalID, approvals: true, key: in.ClientRequestID, once: true}
	answer, err := c.rawAnswer()
	if err != nil {
		return nil, explained(parley.Refuse(parley.ErrValidationFailed, "answer is no JSON", "a JSON value"), h)
	}
	p := &parley.ResolveApprovalParams{
		ApprovalID: in.ApprovalID, Decision: parley.ApprovalDecision(in.Decision), Comment: in.Comment, Answer: answer,
		ClientRequestID: cmp.Or(in.ClientRequestID, "mcp-"+rand.Text()), // all participants read it: it must tell nothing of the answer
	}
	a, err := c.client.ResolveApproval(ctx, p)
	if err != nil {
		return nil, explained(err, h)
	}
	return &answered{
		ApprovalID: a.ApprovalID, Status: string(a.Status), AnsweredBy: a.By, Duplicate: a.Duplicate,
		Next: "The agent goes on by itself. list_approvals shows what else waits.",
	}, nil
}

// rawAnswer gives the answer as the client has written it: a number keeps its digits.
func (c *call) rawAnswer() (json.RawMessage, error) {
	var in map[string]json.RawMessage
	err := json.Unmarshal(c.req.Params.Arguments, &in)
	return in["answer"], err
}

// waitingApproval is an approval that waits for the caller's answer, as a wait tells of it.
type waitingApproval struct {
	ApprovalID string `json:"approval_id"`
	AskedBy    string `json:"asked_by"`
	Title      string `json:"title"`
}

const (
	// mostWaiting bounds how many a wait tells of, among so many that it looks at, and maxTitleChars what it says of each.
	mostWaiting, lookedAt, maxTitleChars = 5, 20, 100
	// waitingTimeout bounds how long a wait asks for them, when what it has waited for is there already.
	waitingTimeout = 2 * time.Second
)

// waitingApprovals are the first approvals that the caller may answer, in whatever conversation. Where they cannot be told there are none: what was waited for is worth more.
func (c *call) waitingApprovals(ctx context.Context) (waiting []waitingApproval) {
	if !c.server.serves(Approvals) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, waitingTimeout)
	defer cancel()
	r, err := c.client.ListApprovals(ctx, &parley.ListApprovalsParams{Limit: lookedAt})
	if err != nil {
		return nil
	}
	for _, a := range r.Approvals {
		if a.MayAnswer && len(waiting) < mostWaiting {
			waiting = append(waiting, waitingApproval{a.ApprovalID, a.AgentID, cut(a.Title, maxTitleChars)})
		}
	}
	return waiting
}

// waitingText says which approvals wait for the caller's answer.
func waitingText(waiting []waitingApproval) string {
	if len(waiting) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nAn answer of your user is waited for: ")
	for i, a := range waiting {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s, %s asks %q", a.ApprovalID, a.AskedBy, a.Title)
	}
	return b.String() + ". list_approvals shows what it is about."
}
