package tool

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm/record"
	"github.com/parleyhub/parley/internal/limits"
)

// grant has the arguments with which a tool may run, or the reason why it may not.
type grant struct {
	arguments json.RawMessage
	status    record.ApprovalStatus
	id        string
	// edited is true if the approver changed the arguments.
	edited  bool
	refused *outcome
}

// details describe the call to the approver. They do not have the id of the call, because it
// differs in each attempt, and the question must be the same.
type details struct {
	Tool         string          `json:"tool"`
	Arguments    json.RawMessage `json:"arguments"`
	InjectedArgs json.RawMessage `json:"injected_args,omitempty"`
	Agent        string          `json:"agent"`
}

// requestApproval asks for approval of the call and waits for the decision. Anything except a clear
// approval is a rejection. An error means that the turn cannot continue; the next attempt finds the
// same approval.
func (c *call) requestApproval(ctx context.Context) (*grant, error) {
	select {
	case c.asking <- struct{}{}:
		defer func() { <-c.asking }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	raw, err := marshal(details{c.Name, c.arguments, c.injected, c.box.o.Name})
	if err != nil {
		return c.reject("", err.Error()), nil
	}
	if len(raw) > limits.MaxApprovalBytes {
		return c.reject(
			"", fmt.Sprintf("the description of the call has more than %d bytes", limits.MaxApprovalBytes)), nil
	}
	p := &parley.RequestApprovalParams{
		Key: c.approvalKey(), Title: truncate(c.box.o.Name+" wants to run "+c.Name, parley.MaxTitleBytes), Details: raw,
		ExpiresInMs: c.box.o.Config.HITLTimeoutMs,
	}
	if c.entry.schema != nil {
		p.AnswerSchema = c.entry.schema.Raw()
	}
	a, err := c.Turn.Approve(ctx, p)
	if errors.Is(err, parley.ErrIdempotencyConflict) {
		// An earlier attempt requested an approval with the same key but other texts or another
		// schema.
		sum := sha256.Sum256(slices.Concat([]byte(p.Title), raw, p.AnswerSchema))
		p.Key += "." + hex.EncodeToString(sum[:4])
		a, err = c.Turn.Approve(ctx, p)
	}
	switch {
	case err == nil:
		c.box.o.Meter.Approval(string(a.Status))
		return c.readDecision(a), nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case EndsTurn(err):
		return nil, err
	}
	c.box.o.Logger.Error("requesting an approval failed", "tool", c.Name, "error", err)
	return c.reject("", "the approval could not be requested: "+err.Error()), nil
}

// approvalKey returns a key that is the same in every attempt, with at most MaxKeyBytes. It
// consists of the phase, the step, the tool, its arguments, and the position among equal calls.
func (c *call) approvalKey() string {
	sum := sha256.Sum256(c.arguments)
	return fmt.Sprintf("%s.%d.%d.%s.%s", c.Phase, c.Step, c.nth, c.Name, hex.EncodeToString(sum[:16]))
}

// readDecision converts a resolved approval.
func (c *call) readDecision(a *parley.Approval) *grant {
	switch a.Status {
	case parley.ApprovalApproved:
		return c.readApproved(a)
	case parley.ApprovalTimedOut:
		return &grant{refused: &outcome{
			status: record.ToolTimedOut, text: c.Name + " was not run, because the approval timed out.", began: time.Now(),
			approval: record.TimedOut, approvalID: a.ApprovalID,
		}}
	case parley.ApprovalRejected:
		why := "someone has rejected it"
		if a.By != "" {
			why = a.By + " has rejected it"
		}
		if a.Comment != "" {
			why += ": " + a.Comment
		}
		return c.reject(a.ApprovalID, why)
	case parley.ApprovalCanceled:
		return c.reject(a.ApprovalID, "the approval was canceled")
	}
	return c.reject(a.ApprovalID, fmt.Sprintf("the approval has the unknown status %q", a.Status))
}

// readApproved takes the arguments from the answer if it has any. Injected arguments in the answer
// are dropped.
func (c *call) readApproved(a *parley.Approval) *grant {
	g := &grant{arguments: c.arguments, status: record.Approved, id: a.ApprovalID}
	if len(a.Answer) == 0 || string(bytes.TrimSpace(a.Answer)) == "null" {
		return g
	}
	arguments, _, err := c.entry.split(string(a.Answer))
	if err != nil || c.entry.schema == nil { // without a schema, no answer was requested
		return c.reject(a.ApprovalID, "the arguments in the answer cannot be checked")
	}
	if wrong := c.entry.checkArguments(arguments); wrong != nil {
		return c.reject(a.ApprovalID, "the arguments in the answer are invalid: "+wrong.Text)
	}
	g.edited = !bytes.Equal(arguments, c.arguments)
	g.arguments = arguments
	return g
}

// reject returns a rejection with a reason.
func (c *call) reject(id, why string) *grant {
	if !strings.HasSuffix(why, ".") { // a comment may end with a period
		why += "."
	}
	return &grant{refused: &outcome{status: record.ToolRejected, text: c.Name + " was not run: " + why, began: time.Now(),
		approval: record.Rejected, approvalID: id}}
}
