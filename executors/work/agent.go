package work

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/paramschema"
)

// answerWait limits the time to post an answer after ctx is done.
const answerWait = time.Second

// Options are the options of New. Nil and the zero value are ready to use.
type Options struct {
	// Once is set for work that must not start twice. It is the error of another attempt at a
	// session, and the answer of another attempt in a seat.
	Once error
	// Unbounded means that the work enforces the timeout of the blueprint itself.
	Unbounded bool
	// Missing is the error text for a result that is not JSON although it must match a schema.
	Missing string
}

// Agent is the agent of a Work. It keeps no state between turns, so one value serves any number of
// conversations concurrently.
type Agent struct {
	blueprint     parley.Blueprint
	parameters    *paramschema.Schema
	output        *paramschema.Schema // nil without output_schema
	subscriptions *parley.Subscriptions
	work          Work
	o             Options
}

var _ parley.Agent = (*Agent)(nil)

// New returns the agent of a blueprint. It interprets schemas and subscriptions like the hub.
// Without a parameters_schema, the parameters are a prompt.
func New(b *parley.Blueprint, w Work, o *Options) (*Agent, error) {
	a := &Agent{blueprint: *b, parameters: paramschema.Prompt(), work: w}
	if o != nil {
		a.o = *o
	}
	a.o.Missing = cmp.Or(a.o.Missing, "the result is not JSON alone")
	var err error
	if len(b.ParametersSchema) > 0 {
		if a.parameters, err = paramschema.Compile(b.ParametersSchema); err != nil {
			return nil, fmt.Errorf("agent %s: parameters_schema: %w", b.Name, err)
		}
	}
	a.blueprint.ParametersSchema = a.parameters.Raw()
	if len(b.OutputSchema) > 0 {
		if a.output, err = paramschema.Compile(b.OutputSchema); err != nil {
			return nil, fmt.Errorf("agent %s: output_schema: %w", b.Name, err)
		}
	}
	if len(b.Subscriptions) > 0 {
		s, faults := parley.ParseSubscriptions(b.Subscriptions)
		if len(faults) > 0 {
			return nil, &parley.Error{
				Err:        parley.ErrValidationFailed,
				Message:    fmt.Sprintf("agent %s: subscriptions: %s: %s", b.Name, faults[0].Path, faults[0].Message),
				Validation: &parley.ValidationFailure{AgentName: b.Name, ValidationErrors: faults},
			}
		}
		a.subscriptions = s
	}
	return a, nil
}

// Blueprint returns the blueprint to register at the hub.
func (a *Agent) Blueprint() parley.Blueprint { return a.blueprint }

// HandleTurn does the job of a turn and posts its answer. An error means that there is no answer:
// the attempt failed, the claim was lost, or the executor stopped.
func (a *Agent) HandleTurn(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
	j, out, err := a.job(ctx, turn)
	if err != nil {
		return "", err
	}
	if j == nil {
		return parley.TurnNoAction, nil
	}
	if out == nil {
		out, err = a.begin(ctx, j)
	}
	if err == nil && out == nil {
		out, err = a.execute(ctx, j)
	}
	if err != nil {
		return "", err
	}
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), answerWait)
		defer cancel()
	}
	return a.answer(ctx, j, out)
}

// job reads the job of a turn. If it returns an Output, the job must not be executed. If it returns
// no Job, there is nothing to do.
func (a *Agent) job(ctx context.Context, turn *parley.Turn) (*Job, *Output, error) {
	c, err := turn.Client.GetConversation(
		ctx, &parley.GetConversationParams{ConversationID: turn.ConversationID, Limit: firstEvents})
	if err != nil {
		return nil, nil, err
	}
	j := &Job{Agent: a.blueprint.Name, Type: a.blueprint.Kind(), Metadata: c.Metadata, Turn: turn}
	if c.Session != nil && c.Session.AgentID == turn.AgentID {
		j.Session = c.Session
	}
	var triggers []int64
	if a.subscriptions != nil {
		got, err := turn.Context(ctx)
		if err != nil {
			return nil, nil, fmt.Errorf("fetch the context: %w", err)
		}
		if triggers = got.Triggers; got.Context != nil {
			if err := j.setContext(got.Context); err != nil {
				return nil, nil, err
			}
		}
	}
	found, wrong := true, []parley.ValidationError(nil)
	if j.Session != nil {
		j.Parameters, err = callerParameters(ctx, turn, c)
	} else {
		found, wrong, err = a.readTrigger(ctx, j, triggers)
	}
	switch {
	case err != nil:
		return nil, nil, err
	case !found:
		return nil, nil, nil
	case len(wrong) > 0:
		return j, mismatch(wrong), nil
	}
	return j, a.check(j), nil
}

// mismatch returns the answer to invalid parameters.
func mismatch(wrong []parley.ValidationError) *Output {
	o := Failed(ReasonParameters, "The parameters do not match the agent's parameters_schema")
	o.Result.ValidationErrors = wrong
	return o
}

func (j *Job) setContext(raw json.RawMessage) error {
	var c struct {
		Trigger *parley.ContextTrigger `json:"trigger"`
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return fmt.Errorf("read the context: %w", err)
	}
	j.Context, j.Trigger = raw, c.Trigger
	return nil
}

// check applies defaults to the parameters and validates them. It returns nil if they are valid.
func (a *Agent) check(j *Job) *Output {
	if len(j.Parameters) == 0 {
		j.Parameters = json.RawMessage("{}")
	}
	var err error
	j.Parameters = a.parameters.DropNulls(j.Parameters)
	if j.Session == nil { // the hub applied the defaults in a session
		var filled json.RawMessage
		if filled, err = a.parameters.Fill(j.Parameters); err == nil {
			j.Parameters = filled
		}
	}
	var wrong []parley.ValidationError
	if err == nil {
		wrong, err = a.parameters.Validate(j.Parameters)
	}
	switch {
	case err != nil:
		return Failed(ReasonParameters, "The parameters cannot be checked against the agent's parameters_schema: %v", err)
	case len(wrong) > 0:
		return mismatch(wrong)
	}
	return nil
}

// kindBegun is the kind of the trace that marks the start of work with Options.Once.
const kindBegun = "begun"

// begin prevents a second start of work with Options.Once. An Output means that the job must not be
// executed. In sessions the attempt number shows an earlier start, in seats also a trace in the
// log.
func (a *Agent) begin(ctx context.Context, j *Job) (*Output, error) {
	switch {
	case a.o.Once == nil:
		return nil, nil
	case j.Session != nil && j.Turn.Attempt > 1:
		return nil, a.o.Once
	case j.Session != nil:
		return nil, nil
	}
	kept, err := j.Kept(ctx, kindBegun)
	if err != nil {
		return nil, err
	}
	if len(kept) > 0 || j.Turn.Attempt > 1 {
		return Failed(ReasonInterrupted, "%s", a.o.Once), nil
	}
	return nil, j.Keep(ctx, kindBegun, map[string]string{"agent": j.Agent})
}

var errTimeout = errors.New("the agent exceeded its timeout_ms")

// execute does the job within its timeout.
func (a *Agent) execute(ctx context.Context, j *Job) (*Output, error) {
	working, stop := ctx, context.CancelFunc(func() {})
	if ms := a.blueprint.TimeoutMs; ms > 0 && !a.o.Unbounded {
		working, stop = context.WithTimeoutCause(ctx, time.Duration(ms)*time.Millisecond, errTimeout)
	}
	defer stop()
	out, err := a.work.Execute(working, j)
	switch {
	case err != nil && ctx.Err() == nil && working.Err() != nil:
		return Failed(ReasonTimeout, "The agent exceeded its timeout_ms"), nil
	case err != nil:
		return nil, err
	case out == nil || out.Result == nil:
		return nil, fmt.Errorf("the work of %s returned neither a result nor an error", j.Agent)
	}
	out.match(a.output, a.o.Missing)
	return out, nil
}

// answer posts the result of a job.
func (a *Agent) answer(ctx context.Context, j *Job, out *Output) (parley.TurnOutcome, error) {
	r := out.Result
	r.ResultType = a.blueprint.Kind()
	r.Error = strings.ToValidUTF8(r.Error, "\uFFFD")
	if err := out.fit(ctx, j.Turn); err != nil {
		return "", err
	}
	if j.Session == nil {
		if _, err := j.Turn.Post(ctx, a.message(j, out), parley.FinalityTurn); err != nil {
			return "", fmt.Errorf("post the answer: %w", err)
		}
		return parley.TurnPosted, nil
	}
	o := parley.Outcome{Status: parley.OutcomeCompleted}
	if r.Error != "" {
		o = parley.Outcome{Status: parley.OutcomeFailed, Reason: out.reason()}
	}
	if _, err := j.Turn.Complete(ctx, parley.Message{Result: r}, o); err != nil {
		return "", fmt.Errorf("close the session: %w", err)
	}
	return parley.TurnComplete, nil
}

// Failure is the data of the message for a failed job in a seat.
type Failure struct {
	Agent            string                   `json:"agent"`
	Status           parley.SessionStatus     `json:"status"` // failed
	Reason           string                   `json:"reason"`
	Error            string                   `json:"error"`
	ValidationErrors []parley.ValidationError `json:"validation_errors,omitempty"`
}

// emptyText is the text of an empty answer in a seat. Without a text, the hub would offer the turn
// again.
const emptyText = "(empty answer)"

// message returns the answer in a seat: the text of the output, and its data with the schema of the
// agent's answers.
func (a *Agent) message(j *Job, out *Output) parley.Message {
	r, schema := out.Result, parley.ToolResponseSchema
	if a.subscriptions != nil {
		schema = cmp.Or(a.subscriptions.AnswerSchema, schema)
	}
	if r.Error != "" {
		data, err := encode(
			Failure{Agent: j.Agent, Status: parley.SessionFailed, Reason: out.reason(), Error: r.Error,
				ValidationErrors: r.ValidationErrors})
		if err != nil {
			data = nil
		}
		return parley.Message{Text: r.Error, Data: data, Schema: schema}
	}
	m := parley.Message{Data: r.ResultData}
	if r.ResultText != nil {
		m.Text = *r.ResultText
	}
	if m.Data != nil {
		m.Schema = schema
	}
	if r.Attachment != nil {
		m.Attachments = []parley.Attachment{*r.Attachment}
	}
	if strings.TrimSpace(m.Text) == "" && m.Data == nil {
		m.Text = emptyText
	}
	return m
}
