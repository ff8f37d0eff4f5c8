package mcp

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/parleyhub/parley"
)

type answerArgs struct {
	ApprovalID      string `json:"approval_id" jsonschema:"an approval_id of list_approvals"`
	Decision        string `json:"decision" jsonschema:"approved lets the agent act; rejected does not"`
	Answer          any    `json:"answer,omitempty"`
	Comment         string `json:"comment,omitempty" jsonschema:"a comment of one line, which all participants can read"`
	ClientRequestID string `json:"client_request_id,omitempty"`
}

func refineAnswer(a *arguments) {
	a.textLength(1, maxApprovalID, "approval_id")
	a.textLength(0, parley.MaxReasonBytes, "comment")
	a.textLength(0, parley.MaxKeyBytes, "client_request_id")
	a.describe("answer", "with approved, if there is an answer_schema: a value that matches it, such as edited "+
		"arguments. "+
		"The agent uses it")
	a.describe("client_request_id", "a key of your choice, which all participants can read: a repeated call with it "+
		"returns "+
		"the same result. Without it, every call has a separate key")
	p := a.argument("answer")
	p.Type = "" // any type is listed, because some clients warn of a property without a type
	p.AnyOf = anyType()
	a.argument("decision").Enum = []any{string(parley.DecisionApproved), string(parley.DecisionRejected)} // no default
}

type answerResult struct {
	ApprovalID string `json:"approval_id"`
	Status     string `json:"status" jsonschema:"approved or rejected"`
	AnsweredBy string `json:"answered_by"`
	Duplicate  bool   `json:"duplicate" jsonschema:"true if an earlier call of yours gave this answer"`
	Next       string `json:"next"`
}

func (a *answerResult) text() string {
	s := fmt.Sprintf("%s is %s.", a.ApprovalID, a.Status)
	if a.Duplicate {
		s = fmt.Sprintf("%s was already %s by an earlier call of yours; this call had no effect.", a.ApprovalID, a.Status)
	}
	return s + "\n" + a.Next
}

func answerApproval(ctx context.Context, c *call, in *answerArgs) (*answerResult, error) {
	h := hints{approval: in.ApprovalID, approvals: true, key: in.ClientRequestID, once: true}
	answer, err := c.rawAnswer()
	if err != nil {
		return nil, explain(parley.Refuse(parley.ErrValidationFailed, "answer is not valid JSON", "a JSON value"), h)
	}
	p := &parley.ResolveApprovalParams{
		ApprovalID: in.ApprovalID, Decision: parley.ApprovalDecision(in.Decision), Comment: in.Comment, Answer: answer,
		// all participants can read it, so it must not depend on the answer
		ClientRequestID: cmp.Or(in.ClientRequestID, "mcp-"+rand.Text()),
	}
	a, err := c.client.ResolveApproval(ctx, p)
	if err != nil {
		return nil, explain(err, h)
	}
	return &answerResult{
		ApprovalID: a.ApprovalID, Status: string(a.Status), AnsweredBy: a.By, Duplicate: a.Duplicate,
		Next: "The agent continues without a further call. list_approvals lists other approvals.",
	}, nil
}

// rawAnswer returns the answer as the client encoded it, so that numbers keep their digits.
func (c *call) rawAnswer() (json.RawMessage, error) {
	var in map[string]json.RawMessage
	err := json.Unmarshal(c.req.Params.Arguments, &in)
	return in["answer"], err
}

// pendingApproval is an approval in the result of a wait that the caller may answer.
type pendingApproval struct {
	ApprovalID string `json:"approval_id"`
	AskedBy    string `json:"asked_by"`
	Title      string `json:"title"`
}

const (
	// maxPending limits the approvals in the result of a wait, and pendingPage those that the wait
	// reads. maxTitleChars limits the title of each.
	maxPending, pendingPage, maxTitleChars = 5, 20, 100
	// pendingTimeout limits the time to list approvals, because the result of the wait is already
	// there.
	pendingTimeout = 2 * time.Second
)

// pendingApprovals returns the first approvals that the caller may answer, in all conversations. It
// returns nil on an error, because the result of the wait matters more.
func (c *call) pendingApprovals(ctx context.Context) (waiting []pendingApproval) {
	if !c.server.serves(Approvals) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, pendingTimeout)
	defer cancel()
	r, err := c.client.ListApprovals(ctx, &parley.ListApprovalsParams{Limit: pendingPage})
	if err != nil {
		return nil
	}
	for _, a := range r.Approvals {
		if a.MayAnswer && len(waiting) < maxPending {
			waiting = append(waiting, pendingApproval{a.ApprovalID, a.AgentID, cut(a.Title, maxTitleChars)})
		}
	}
	return waiting
}

// pendingText lists the approvals that wait for the answer of the caller.
func pendingText(waiting []pendingApproval) string {
	if len(waiting) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nAgents wait for an answer of your user: ")
	for i, a := range waiting {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s, %s requests %q", a.ApprovalID, a.AskedBy, a.Title)
	}
	return b.String() + ". list_approvals shows the details."
}
