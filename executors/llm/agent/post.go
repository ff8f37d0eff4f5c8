package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm/record"
)

const (
	// MaxTextBytes limits the text of the final message. A longer answer becomes a file, and the
	// message has its first HeadBytes.
	MaxTextBytes = 256 << 10
	HeadBytes    = 16 << 10
)

// The tags of final messages.
const (
	TagPartial   = "partial"   // a budget was used up before the end
	TagTruncated = "truncated" // the model stopped at its limit of tokens
	TagRefusal   = "refusal"   // the model refused
	TagBudget    = "budget"    // BudgetMessage
)

// conclude posts the outcome of a turn.
func (r *run) conclude(ctx context.Context, a *answer, err error) (parley.TurnOutcome, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if errors.Is(err, errTimeout) {
		err = &failure{reason: ReasonTimeout, text: "The agent exceeded its timeout_ms", err: err}
	}
	if err == nil && a.refusal && r.view.session != nil {
		err = &failure{reason: ReasonRefusal, text: a.text}
	}
	var f *failure
	switch {
	case err == nil:
		return r.post(ctx, a)
	case errors.As(err, &f) && r.view.session != nil && (!f.later || r.turn.Attempt >= r.view.attempts):
		return r.fail(ctx, f)
	}
	status := "error"
	if f != nil {
		status = f.reason
	}
	if uerr := r.recordUsage(ctx, status); uerr != nil {
		r.log.Debug("recording the usage failed", "error", uerr)
	}
	return "", err
}

// fail closes a session without an answer.
func (r *run) fail(ctx context.Context, f *failure) (parley.TurnOutcome, error) {
	if err := r.recordUsage(ctx, f.reason); err != nil {
		return "", err
	}
	result := &parley.SessionResult{ResultType: parley.AgentTypeAgent, Error: head(f.text, parley.MaxReasonBytes),
		ValidationErrors: f.wrong}
	if _, err := r.turn.Complete(ctx, parley.Message{Result: result},
		parley.Outcome{Status: parley.OutcomeFailed, Reason: f.reason}); err != nil {
		return "", fmt.Errorf("close the session: %w", err)
	}
	return parley.TurnComplete, nil
}

// post posts the answer: as the result of a session, or as the message that ends the turn of a
// seat.
func (r *run) post(ctx context.Context, a *answer) (parley.TurnOutcome, error) {
	status, tags := a.status()
	if err := r.recordUsage(ctx, status); err != nil {
		return "", err
	}
	if r.view.session != nil {
		return r.complete(ctx, a, tags)
	}
	if a.text == "" {
		a.text = EmptyMessage // without a text, the hub would offer the turn again
	}
	m := parley.Message{Text: a.text, Tags: tags, Data: json.RawMessage(a.data)}
	file, err := r.attachLongAnswer(ctx, a)
	if err != nil {
		return "", err
	}
	if file != nil {
		m.Text, m.Data, m.Attachments = head(a.text, HeadBytes), nil, []parley.Attachment{*file}
	}
	if _, err := r.turn.Post(ctx, m, parley.FinalityTurn); err != nil {
		return "", fmt.Errorf("post the answer: %w", err)
	}
	return parley.TurnPosted, nil
}

// complete closes a session with its result.
func (r *run) complete(ctx context.Context, a *answer, tags []string) (parley.TurnOutcome, error) {
	result := &parley.SessionResult{ResultType: parley.AgentTypeAgent, ResultText: &a.text,
		ResultData: json.RawMessage(a.data)}
	file, err := r.attachLongAnswer(ctx, a)
	if err != nil {
		return "", err
	}
	if file != nil {
		beginning := head(a.text, HeadBytes)
		result.ResultText, result.ResultData, result.Attachment = &beginning, nil, file
	}
	o := parley.Outcome{Status: parley.OutcomeCompleted}
	if len(tags) > 0 {
		o.Reason = tags[0]
	}
	if _, err := r.turn.Complete(ctx, parley.Message{Result: result, Tags: tags}, o); err != nil {
		return "", fmt.Errorf("close the session: %w", err)
	}
	return parley.TurnComplete, nil
}

// status returns the final status of a turn with an answer, and the tags of its message.
func (a *answer) status() (string, []string) {
	switch {
	case a.refusal:
		return ReasonRefusal, []string{TagRefusal}
	case a.partial:
		return "partial", []string{TagPartial}
	case a.budget:
		return "budget", []string{TagBudget}
	case a.cut:
		return "completed", []string{TagTruncated}
	}
	return "completed", nil
}

// attachLongAnswer stores an answer that is too long for a message as a file. It returns nil for
// other answers.
func (r *run) attachLongAnswer(ctx context.Context, a *answer) (*parley.Attachment, error) {
	b, err := json.Marshal(a.text)
	if err != nil || len(b)+len(a.data) <= MaxTextBytes {
		return nil, err
	}
	name, mediaType := "answer.txt", "text/plain; charset=utf-8"
	if a.data != nil {
		name, mediaType = "answer.json", "application/json"
	}
	file, err := r.turn.Attach(ctx, name, mediaType, []byte(a.text))
	if err != nil {
		return nil, fmt.Errorf("attach the answer: %w", err)
	}
	return &file, nil
}

// head returns the first bytes of a text without splitting a rune.
func head(text string, most int) string { return text[:cutAt(text, most)] }

// dataOf returns a text as JSON. It returns nil if the text is not JSON alone, or not JSON that
// every reader accepts.
func dataOf(text string) []byte {
	b := []byte(strings.TrimSpace(text))
	var v any
	if json.Unmarshal(b, &v) != nil || !record.IsKept(b) { // Unmarshal also refuses numbers beyond a double
		return nil
	}
	return b
}
