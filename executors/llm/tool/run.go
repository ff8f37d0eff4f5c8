package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/record"
	"github.com/parleyhub/parley/internal/limits"
)

const (
	// maxParallel limits the tools of one round that run concurrently, and maxAsking its pending
	// approvals.
	maxParallel = 16
	maxAsking   = limits.MaxPendingApprovals
	// lastWrite limits the time to record the end of a tool after ctx is done.
	lastWrite = 5 * time.Second
)

// Round has the calls of one answer of a model.
type Round struct {
	Turn   *parley.Turn
	Record *record.Log
	Phase  record.Phase
	// Step is the number of the answer in its phase.
	Step  int
	Calls []llm.ToolCall
	// Cut is true if the answer was cut off at a limit of its length. The last call is then not
	// run, because its arguments may be incomplete.
	Cut bool
}

// round is a running Round.
type round struct {
	*Round
	box     *Box
	set     *set
	running chan struct{} // one slot for each running tool
	asking  chan struct{} // one slot for each pending approval
}

// Run runs the calls concurrently, and returns their results in the order of the calls. A failed
// tool is a result. An error means that the turn cannot continue.
func (b *Box) Run(ctx context.Context, r *Round) ([]llm.ToolResult, error) {
	s, err := b.current(ctx, r.Turn.Client)
	if err != nil {
		return nil, err
	}
	running := &round{Round: r, box: b, set: s, running: make(chan struct{}, maxParallel),
		asking: make(chan struct{}, maxAsking)}
	calls := running.prepare()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	results := make([]llm.ToolResult, len(calls))
	var all sync.WaitGroup
	for i, c := range calls {
		all.Go(func() {
			ended, err := c.complete(ctx)
			if err != nil {
				cancel(err)
				return
			}
			results[i] = llm.ToolResult{CallID: c.ID, Name: c.Name, Text: ended.Text, Files: ended.Files,
				IsError: !ended.Success}
		})
	}
	all.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return results, nil
}

// call is one call of a round.
type call struct {
	*round
	llm.ToolCall
	key string
	// entry is nil for an unknown tool.
	entry *entry
	// arguments are for the tool, and injected are removed from them. bad is the error of invalid
	// arguments.
	arguments, injected json.RawMessage
	bad                 error
	// cut is true if the arguments may be incomplete.
	cut bool
	// nth counts the earlier calls of the round with the same tool and arguments.
	nth int
	// span is the span of the call. execute and later methods may use it.
	span parley.Span
}

// prepare parses the calls.
func (r *round) prepare() []*call {
	calls := make([]*call, len(r.Calls))
	same := map[string]int{}
	for i, tc := range r.Calls {
		c := &call{round: r, ToolCall: tc, key: record.ToolKey(r.Phase, r.Step, strconv.Itoa(i)),
			entry: r.set.byName[tc.Name], cut: r.Cut && i == len(r.Calls)-1}
		calls[i] = c
		if c.entry == nil {
			continue
		}
		if len(tc.Arguments) > maxArguments {
			c.bad = fmt.Errorf("expected at most %d bytes", maxArguments)
			continue
		}
		if c.arguments, c.injected, c.bad = c.entry.split(tc.Arguments); c.bad == nil {
			id := tc.Name + string(c.arguments)
			c.nth = same[id]
			same[id]++
		}
	}
	return calls
}

// outcome is the end of a call.
type outcome struct {
	status     record.MetadataStatus
	text       string
	files      []llm.File
	began      time.Time
	approval   record.ApprovalStatus
	approvalID string
}

// notRun returns the outcome of a call that was not run.
func notRun(r *Result) *outcome {
	return &outcome{status: record.ToolError, text: r.Text, began: time.Now(), approval: record.NotRequired}
}

// endWithout records the end of a call that was not run.
func (c *call) endWithout(ctx context.Context, p *problem) (*record.ToolEnded, error) {
	return c.end(ctx, notRun(p.result()))
}

// complete runs a call to its end. A call whose end is in the record is not run again.
func (c *call) complete(ctx context.Context) (*record.ToolEnded, error) {
	started, ended := c.Record.Tool(c.key)
	if ended != nil && ended.Tool == c.Name {
		return c.loadImages(ctx, ended)
	}
	ctx, span := c.startSpan(ctx)
	defer span.End()
	c.span = span
	ended, err := c.execute(ctx, started)
	c.setSpanResult(ctx, span, ended, err)
	return ended, err
}

// execute runs a call. started is not nil if an earlier attempt started it.
func (c *call) execute(ctx context.Context, started *record.ToolStarted) (*record.ToolEnded, error) {
	switch {
	case started != nil && started.Tool == c.Name:
		return c.resume(ctx, started)
	case c.entry == nil:
		return c.endWithout(ctx, &problem{Error: "unknown_tool", Message: "There is no tool " + c.Name + ".",
			Hint: "The available tools are: " + toolList(c.set.names()) + "."})
	case c.cut:
		return c.endWithout(ctx, &problem{Error: "invalid_arguments",
			Message: c.Name + " was not run, because your answer was too long and the call was cut off."})
	case c.bad != nil:
		return c.endWithout(ctx, &problem{Error: "invalid_arguments",
			Message: c.Name + " was not run, because its arguments are not one JSON object: " + c.bad.Error() + "."})
	}
	if wrong := c.entry.checkArguments(c.arguments); wrong != nil {
		return c.end(ctx, notRun(wrong))
	}
	g := &grant{arguments: c.arguments, status: record.NotRequired}
	if c.entry.gated {
		var err error
		if g, err = c.requestApproval(ctx); err != nil {
			return nil, err
		}
		if g.refused != nil {
			return c.end(ctx, g.refused)
		}
	}
	return c.start(ctx, g)
}

// start records the start of the tool, and runs it.
func (c *call) start(ctx context.Context, g *grant) (*record.ToolEnded, error) {
	select {
	case c.running <- struct{}{}:
		defer func() { <-c.running }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	err := c.Record.Start(ctx, &record.ToolStarted{
		Key: c.key, Phase: c.Phase, CallID: c.ID, Tool: c.Name, Arguments: g.arguments, InjectedArgs: c.injected,
		ApprovalID: g.id,
	})
	if err != nil {
		return nil, err
	}
	return c.run(ctx, g)
}

// resume continues a call that an earlier attempt started.
func (c *call) resume(ctx context.Context, started *record.ToolStarted) (*record.ToolEnded, error) {
	g := &grant{arguments: c.arguments, status: record.NotRequired, id: started.ApprovalID}
	if started.ApprovalID != "" {
		g.status, g.arguments = record.Approved, started.Arguments
		g.edited = string(g.arguments) != string(c.arguments)
	}
	if c.entry != nil && c.bad == nil {
		if _, ok := c.entry.tool.(Repeatable); ok {
			return c.run(ctx, g)
		}
	}
	return c.end(ctx, &outcome{
		status: record.ToolInterrupted, began: time.Now(), approval: g.status, approvalID: g.id,
		text: "An earlier attempt of this turn started " + c.Name + " and ended before the result was known. " +
			"The call may or may not have taken effect. Find out before you call the tool again.",
	})
}

// run runs the tool, and records its end.
func (c *call) run(ctx context.Context, g *grant) (*record.ToolEnded, error) {
	o := &outcome{status: record.ToolSuccess, began: time.Now(), approval: g.status, approvalID: g.id}
	p := c.newProgress(ctx)
	result, err := c.runGuarded(
		ctx, &Call{Key: c.callKey(), ID: c.ID, Arguments: g.arguments, Turn: c.Turn, Progress: p.report, span: c.span})
	p.close()
	var l turnLost
	switch {
	case errors.As(err, &l):
		return nil, err
	case ctx.Err() != nil && (err != nil || result.IsError):
		return nil, context.Cause(ctx) // the end of ctx may be the cause of the result
	case err != nil:
		o.status, o.text = record.ToolError, err.Error()
	default:
		o.text, o.files = result.Text, slices.Clone(result.Files)
		if result.IsError {
			o.status = record.ToolError
		}
	}
	if g.edited {
		o.text = "[The approver changed the arguments to " + string(g.arguments) + "]\n" + o.text
	}
	return c.end(ctx, o)
}

// callKey returns the key of the call, which is unique in the hub.
func (c *call) callKey() string {
	return c.Turn.ConversationID + "." + strconv.FormatInt(c.Turn.Number, 10) + "." + c.key
}

// runGuarded runs the tool, and returns a panic as an error.
func (c *call) runGuarded(ctx context.Context, tc *Call) (r *Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			c.box.o.Logger.Error("a tool panicked", "tool", c.Name, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			r, err = nil, fmt.Errorf("%w: %s panicked: %v", llm.ErrTool, c.Name, v)
		}
	}()
	if r, err = c.entry.tool.Run(ctx, tc); r == nil && err == nil {
		return nil, fmt.Errorf("%w: %s returned no result", llm.ErrTool, c.Name)
	}
	return r, err
}

// end records the end of a call, even if ctx is done, because the tool did run.
func (c *call) end(ctx context.Context, o *outcome) (*record.ToolEnded, error) {
	took := float64(time.Since(o.began).Microseconds()) / 1000
	if ctx.Err() != nil {
		detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWrite)
		defer cancel()
		ctx = detached
	}
	t := &record.ToolEnded{
		Key: c.key, Phase: c.Phase, CallID: c.ID, Tool: c.Name, Success: o.status == record.ToolSuccess, DurationMs: took,
		Metadata: record.Metadata{
			Status: o.status, StartedAt: seconds(o.began), CompletedAt: seconds(time.Now()), ExecutionTimeMs: took,
			ApprovalStatus: o.approval, InjectedArgs: c.injected,
		},
	}
	if t.Metadata.InjectedArgs == nil {
		t.Metadata.InjectedArgs = json.RawMessage("{}")
	}
	if o.approvalID != "" {
		t.Metadata.ApprovalID = &o.approvalID
	}
	text := strings.ToValidUTF8(o.text, "\uFFFD")
	if !t.Success {
		t.Error = truncate(text, maxError)
	}
	var err error
	if text, t.Files, err = c.attachImages(ctx, text, o.files); err != nil {
		return nil, err
	}
	if t.Text, t.Metadata.OffloadedArtifactID, err = c.offload(ctx, text); err != nil {
		return nil, err
	}
	if err := c.Record.End(ctx, t); err != nil {
		return nil, err
	}
	c.box.o.Meter.Tool(string(o.status), time.Duration(took*float64(time.Millisecond)))
	return t, nil
}

// seconds returns a time as Unix time.
func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }
