package check

import (
	"encoding/json"
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/limits"
)

// Approval checks a request: Key, Title, Details and AnswerSchema of r, whose JSON is compact. It
// does not check that the schema is valid.
func Approval(r *parley.ApprovalRecord, expiresInMs int64) error {
	switch {
	case r.Key == "":
		return invalid(fmt.Sprintf("1 to %d bytes", parley.MaxKeyBytes), "key is empty")
	case r.Title == "":
		return invalid(fmt.Sprintf("one line of 1 to %d bytes", parley.MaxTitleBytes), "title is empty")
	case len(r.AnswerSchema) > limits.MaxAgentSchemaBytes:
		return invalid(fmt.Sprintf("at most %d bytes", limits.MaxAgentSchemaBytes),
			"answerSchema has %d bytes", len(r.AnswerSchema))
	case expiresInMs < limits.MinApprovalMs || expiresInMs > limits.MaxApprovalMs:
		return invalid(fmt.Sprintf("%d to %d", limits.MinApprovalMs, int64(limits.MaxApprovalMs)),
			"expiresInMs is %d", expiresInMs)
	}
	if err := checkText("key", r.Key, parley.MaxKeyBytes); err != nil {
		return err
	}
	if err := checkText("title", r.Title, parley.MaxTitleBytes); err != nil {
		return err
	}
	if err := checkApprovalBytes("details", r.Details); err != nil {
		return err
	}
	if len(r.Details) > 0 && r.Details[0] != '{' {
		return invalid("an object", "details is %s", jsonKind(r.Details))
	}
	return nil
}

func checkApprovalBytes(name string, raw json.RawMessage) error {
	if len(raw) > limits.MaxApprovalBytes {
		return invalid(fmt.Sprintf("at most %d bytes", limits.MaxApprovalBytes), "%s has %d bytes", name, len(raw))
	}
	return nil
}

// Answer checks an answer: the decision as Status, Comment and Answer of r, whose JSON is compact. It
// does not check the answer against the schema.
func Answer(r *parley.ApprovalRecord) error {
	switch {
	case !parley.ApprovalDecision(r.Status).Valid():
		return invalid("approved or rejected", "decision is %q", policy.Clip(string(r.Status)))
	case len(r.Answer) > 0 && r.Status != parley.ApprovalApproved:
		return invalid("no answer", "answer goes with the decision approved alone")
	}
	if err := checkText("comment", r.Comment, parley.MaxReasonBytes); err != nil {
		return err
	}
	return checkApprovalBytes("answer", r.Answer)
}
