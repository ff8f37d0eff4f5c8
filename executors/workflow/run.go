package workflow

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/work"
	"github.com/parleyhub/parley/internal/selector"
)

// The reasons of failed workflows.
const (
	ReasonStep   = "step"   // a step failed, or could not be started
	ReasonOutput = "output" // a path of the output has no match
)

// MaxInputBytes limits the input of a step.
const MaxInputBytes = 256 << 10

var _ work.Work = (*Plan)(nil)

// run is one execution. It has one goroutine, and one for each node of a parallel group, for which
// it waits.
type run struct {
	plan   *Plan
	job    *work.Job
	inputs map[string]json.RawMessage // inputs of steps in earlier attempts, by key

	mu    sync.Mutex // guards the fields below
	steps map[string]*ended
}

// Execute runs the steps.
func (p *Plan) Execute(ctx context.Context, j *work.Job) (*work.Output, error) {
	r := &run{plan: p, job: j, inputs: map[string]json.RawMessage{}, steps: map[string]*ended{}}
	kept, err := j.Kept(ctx, kindStep)
	if err != nil {
		return nil, err
	}
	for _, raw := range kept {
		var s started
		if json.Unmarshal(raw, &s) == nil && r.inputs[s.Key] == nil {
			r.inputs[s.Key] = s.Input
		}
	}
	last, err := r.do(ctx, &p.root)
	var failed *stepError
	switch {
	case errors.As(err, &failed):
		out := work.Failed(ReasonStep, "%s", failed.text)
		out.Result.ValidationErrors = failed.wrong
		return out, nil
	case err != nil:
		return nil, err
	case p.output == nil:
		return work.Value(last)
	}
	scope, err := r.scope()
	if err != nil {
		return nil, err
	}
	v, err := p.output.fill(scope, "output", false)
	if err != nil {
		return work.Failed(ReasonOutput, "%v", err), nil
	}
	return work.Value(v)
}

// scope returns the document that paths select from.
func (r *run) scope() (*selector.Document, error) {
	var context map[string]json.RawMessage
	_ = json.Unmarshal(r.job.Context, &context) // without a valid context there is no trigger
	r.mu.Lock()
	steps := maps.Clone(r.steps) // its values do not change
	r.mu.Unlock()
	raw, err := encode(map[string]any{"parameters": r.job.Parameters, "context": r.job.Context,
		"trigger": context["trigger"], "steps": steps})
	if err != nil {
		return nil, fmt.Errorf("read the parameters and the context: %w", err)
	}
	return selector.ReadDocument(raw), nil
}

// stepError is the failure of a workflow.
type stepError struct {
	text  string
	wrong []parley.ValidationError
}

func (e *stepError) Error() string { return e.text }

// do runs a node and returns its result: the output of a step, the result of the last node of a
// list, or the list of all results of a parallel group.
func (r *run) do(ctx context.Context, n *node) (any, error) {
	switch {
	case n.step != nil:
		return r.step(ctx, n.step)
	case n.parallel:
		return r.parallel(ctx, n.nodes)
	}
	var last any
	for i := range n.nodes {
		var err error
		if last, err = r.do(ctx, &n.nodes[i]); err != nil {
			return nil, err
		}
	}
	return last, nil
}

// parallel runs nodes concurrently, each to its end. The error is that of the first node that
// failed, in the order of the nodes.
func (r *run) parallel(ctx context.Context, nodes []node) (any, error) {
	all, errs := make([]any, len(nodes)), make([]error, len(nodes))
	var group sync.WaitGroup
	for i := range nodes {
		group.Go(func() { all[i], errs[i] = r.do(ctx, &nodes[i]) })
	}
	group.Wait()
	var failed *stepError
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil && !errors.As(err, &failed) }); i >= 0 {
		return nil, errs[i] // the attempt failed; the next one finds the other sessions again
	}
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return nil, errs[i]
	}
	return all, nil
}

// step runs one step to its end, including retries.
func (r *run) step(ctx context.Context, s *step) (any, error) {
	ctx, span := r.startSpan(ctx, s)
	defer span.End()
	last, err := r.runWithRetries(ctx, s)
	if err != nil {
		span.Fail(parley.ErrorKind(err))
		return nil, err
	}
	setSpanResult(span, last)
	return r.recordResult(ctx, s, last)
}

// runWithRetries runs a step until it completes, or has no retry left.
func (r *run) runWithRetries(ctx context.Context, s *step) (*ended, error) {
	var last *ended
	for again := 0; again <= s.retries; again++ {
		e, err := r.once(ctx, s, again)
		if err != nil {
			return nil, err
		}
		if last = e; e.Status == parley.SessionCompleted {
			break
		}
	}
	return last, nil
}

// recordResult stores the result of a step for later paths. It returns an error if the workflow
// fails.
func (r *run) recordResult(ctx context.Context, s *step, last *ended) (any, error) {
	if last.Status != parley.SessionCompleted && !s.continues {
		return nil, &stepError{text: "step " + s.name + ": " + last.Error, wrong: last.wrong}
	}
	r.mu.Lock()
	r.steps[s.name] = last
	ran := len(r.steps)
	r.mu.Unlock()
	r.job.Progress(ctx, fmt.Sprintf("step %s: %s (%d of %d)", s.name, last.Status, ran, r.plan.count))
	if last.Output == nil {
		return nil, nil
	}
	return decode(last.Output)
}

// kindStep is the kind of the trace with the input of a step.
const kindStep = "step"

// started is the data of such a trace.
type started struct {
	Key   string          `json:"key"`
	Agent string          `json:"agent"`
	Input json.RawMessage `json:"input"`
}

// once starts a step, or finds the session of an earlier attempt, and waits for its end.
func (r *run) once(ctx context.Context, s *step, again int) (*ended, error) {
	key := s.name
	if again > 0 {
		key += "#" + strconv.Itoa(again)
	}
	input := r.inputs[key]
	if input == nil {
		scope, err := r.scope()
		if err != nil {
			return nil, err
		}
		v, err := s.input.fill(scope, "input", s.optional)
		if err != nil {
			return &ended{Status: parley.SessionFailed, Error: err.Error()}, nil
		}
		if input, err = encode(v); err != nil {
			return nil, err
		}
		if len(input) > MaxInputBytes {
			return &ended{Status: parley.SessionFailed,
				Error: fmt.Sprintf("the input has %d bytes: expected at most %d", len(input), MaxInputBytes)}, nil
		}
		if err := r.job.Keep(ctx, kindStep, started{key, s.agent, input}); err != nil {
			return nil, err
		}
	}
	return r.session(ctx, s, &parley.StartSessionParams{
		AgentName: s.agent, Parameters: input, Mode: parley.ModeSync, TimeoutMs: parley.MaxWaitMs,
		ClientRequestID: sessionKey(r.job.Key(), key),
	})
}

// sessionKey returns the key of the session of a step, which is the same in each attempt at the
// workflow.
func sessionKey(job, step string) string {
	sum := sha256.Sum256([]byte(job + "\x00" + step))
	return "step-" + hex.EncodeToString(sum[:20])
}

// endingErrors are errors of a turn that ended, or of a hub that is unavailable.
var endingErrors = []error{
	parley.ErrClaimLost, parley.ErrClaimRequired, parley.ErrNotYourTurn, parley.ErrTurnClosed,
	parley.ErrConversationClosed,
	parley.ErrUnavailable, parley.ErrOutcomeUnknown, parley.ErrUnauthenticated,
}

// againAfter is the pause before a call that was refused temporarily is repeated.
const againAfter = time.Second

// session runs the session of a step.
func (r *run) session(ctx context.Context, step *step, p *parley.StartSessionParams) (*ended, error) {
	turn := r.job.Turn
	s, err := turn.StartSession(ctx, p)
	for err == nil && !s.Status.Ended() && s.Status != parley.SessionInputRequired || err != nil && r.waitRetry(ctx, err) {
		if err != nil {
			s, err = turn.StartSession(ctx, p)
			continue
		}
		s, err = turn.Client.GetSession(ctx, &parley.GetSessionParams{SessionID: s.SessionID, TimeoutMs: parley.MaxWaitMs})
	}
	switch {
	case err == nil && s.Status == parley.SessionInputRequired:
		return r.stopAsking(ctx, step, s)
	case err == nil:
		return endOf(step, s), nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case slices.ContainsFunc(endingErrors, func(e error) bool { return errors.Is(err, e) }):
		return nil, err
	}
	e := &ended{Status: parley.SessionFailed, Error: "the agent " + step.agent + " was not started: " + err.Error()}
	var refusal *parley.Error
	if errors.As(err, &refusal) && refusal.Validation != nil {
		e.wrong = refusal.Validation.ValidationErrors
	}
	return e, nil
}

// waitRetry pauses before a repetition. It returns false if a repetition cannot succeed.
func (r *run) waitRetry(ctx context.Context, err error) bool {
	if !parley.ErrorRowOf(err).Retryable || slices.ContainsFunc(endingErrors, func(e error) bool { return errors.Is(err, e) }) ||
		ctx.Err() != nil {
		return false
	}
	t := time.NewTimer(againAfter)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// stopAsking stops a session that waits for input, because a workflow cannot answer.
func (r *run) stopAsking(ctx context.Context, step *step, s *parley.Session) (*ended, error) {
	_, err := r.job.Turn.Client.StopSession(
		ctx, &parley.StopSessionParams{SessionID: s.SessionID,
			Reason: "the caller is a workflow and cannot answer questions"})
	if err != nil {
		return nil, fmt.Errorf("stop the session of step %s: %w", step.name, err)
	}
	return &ended{Status: parley.SessionStopped, SessionID: s.SessionID, Error: "the agent " + step.agent +
		" asked a question and was stopped"}, nil
}
