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
)

// grant says with which arguments a tool may run, or why it may not.
type grant struct {
	arguments json.RawMessage
	status    record.ApprovalStatus
	id        string
	// edited is set where whoever approved has changed the arguments.
	edited  bool
	refused *outcome
}

// details are what is to be decided on. The id of the call is not in them: it is another one each time that a model is asked, and the question is the same.
type details struct {
	Tool         string          `json:"tool"`
	Arguments    json.RawMessage `json:"arguments"`
	InjectedArgs json.RawMessage `json:"injected_args,omitempty"`
	Agent        string          `json:"agent"`
}

// ask asks whether the tool may run, and waits for the answer. Whatever is no clear yes is a no; an error says that the turn cannot go on, and the next attempt meets the same question.
func (c *call) ask(ctx context.Context) (*grant, error) {
	select {
	case c.asking <- struct{}{}:
		defer func() { <-c.asking }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	raw, err := marshal(details{c.Name, c.arguments, c.injected, c.box.o.Name})
	if err != nil {
		return c.denied("", err.Error()), nil
	}
	if len(raw) > parley.MaxApprovalBytes {
		return c.denied(
			"", fmt.Sprintf("its arguments are too large to be approved of: expected at most %d bytes with what is told of them",
				parley.MaxApprovalBytes)), nil
	}
	p := &parley.RequestApprovalParams{
		Key: c.approvalKey(), Title: beginning(c.box.o.Name+" wants to run "+c.Name, parley.MaxTitleBytes), Details: raw,
		ExpiresInMs: c.box.o.Config.HITLTimeoutMs,
	}
	if c.entry.schema != nil {
		p.AnswerSchema = c.entry.schema.Raw()
	}
	a, err := c.Turn.Approve(ctx, p)
	if errors.Is(err, parley.ErrIdempotencyConflict) { // an earlier attempt has asked the like, in other words or with another schema: this is another question
		sum := sha256.Sum256(slices.Concat([]byte(p.Title), raw, p.AnswerSchema))
		p.Key += "." + hex.EncodeToString(sum[:4])
		a, err = c.Turn.Approve(ctx, p)
	}
	switch {
	case err == nil:
		c.box.o.Meter.Approval(string(a.Status))
		return c.answered(a), nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case endsTurn(err):
		return nil, err
	}
	c.box.o.Logger.Error("an approval could not be asked for", "tool", c.Name, "error", err)
	return c.denied("", "it could not be asked for: "+err.Error()), nil
}

// approvalKey is the same in every attempt, and at most MaxKeyBytes: of the phase, the step, the tool, its arguments, and which of several calls it is that are the same.
func (c *call) approvalKey() string {
	sum := sha256.Sum256(c.arguments)
	return fmt.Sprintf("%s.%d.%d.%s.%s", c.Phase, c.Step, c.nth, c.Name, hex.EncodeToString(sum[:16]))
}

// answered reads an approval that is resolved.
func (c *call) answered(a *parley.Approval) *grant {
	switch a.Status {
	case parley.ApprovalApproved:
		return c.approved(a)
	case parley.ApprovalTimedOut:
		return &grant{refused: &outcome{
			status: record.ToolTimedOut, text: c.Name + " was not run: nobody has approved of it in time.", began: time.Now(),
			approval: record.TimedOut, approvalID: a.ApprovalID,
		}}
	case parley.ApprovalRejected:
		why := "somebody has rejected it"
		if a.By != "" {
			why = a.By + " has rejected it"
		}
		if a.Comment != "" {
			why += ": " + a.Comment
		}
		return c.denied(a.ApprovalID, why)
	case parley.ApprovalCanceled:
		return c.denied(a.ApprovalID, "the question was withdrawn")
	}
	return c.denied(a.ApprovalID, fmt.Sprintf("its approval is %q, which says nothing", a.Status))
}

// approved takes the arguments of the answer, where there is one. Injected ones in it are dropped.
func (c *call) approved(a *parley.Approval) *grant {
	g := &grant{arguments: c.arguments, status: record.Approved, id: a.ApprovalID}
	if len(a.Answer) == 0 || string(bytes.TrimSpace(a.Answer)) == "null" {
		return g
	}
	arguments, _, err := c.entry.split(string(a.Answer))
	if err != nil || c.entry.schema == nil { // without a schema none was asked for
		return c.denied(a.ApprovalID, "the arguments of the approval are not one JSON object that could be checked")
	}
	if wrong := c.entry.wrong(arguments); wrong != nil {
		return c.denied(a.ApprovalID, "the arguments of the approval do not fit: "+wrong.Text)
	}
	g.edited = !bytes.Equal(arguments, c.arguments)
	g.arguments = arguments
	return g
}

// denied is a no.
func (c *call) denied(id, why string) *grant {
	if !strings.HasSuffix(why, ".") { // as a comment may
		why += "."
	}
	return &grant{refused: &outcome{status: record.ToolRejected, text: c.Name + " was not run: " + why, began: time.Now(),
		approval: record.Rejected, approvalID: id}}
}
