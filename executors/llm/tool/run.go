package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/record"
)

const (
	// maxParallel bounds the tools of one round that run at once, and maxAsking its approvals that are asked for at once.
	maxParallel = 16
	maxAsking   = parley.MaxPendingApprovals
	// lastWrite is how long the end of a tool may take to be written when ctx has ended meanwhile.
	lastWrite = 5 * time.Second
)

// Round are the calls of one answer of a model.
type Round struct {
	Turn   *parley.Turn
	Record *record.Log
	Phase  record.Phase
	// Step is the number of the answer in its phase.
	Step  int
	Calls []llm.ToolCall
	// Cut is true where the answer was cut off by a bound of its length: the last call, whose arguments may not be all, is not run.
	Cut bool
}

// round is a Round that runs.
type round struct {
	*Round
	box     *Box
	set     *set
	running chan struct{} // has a place for each tool that runs
	asking  chan struct{} // has a place for each approval that is asked for
}

// Run runs the calls at once and gives their results in their order. What goes wrong with a tool is a result; an error says that the turn cannot go on.
func (b *Box) Run(ctx context.Context, r *Round) ([]llm.ToolResult, error) {
	s, err := b.current(ctx, r.Turn.Client)
	if err != nil {
		return nil, err
	}
	on := &round{Round: r, box: b, set: s, running: make(chan struct{}, maxParallel),
		asking: make(chan struct{}, maxAsking)}
	calls := on.prepare()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	results := make([]llm.ToolResult, len(calls))
	var all sync.WaitGroup
	for i, c := range calls {
		all.Go(func() {
			ended, err := c.do(ctx)
			if err != nil {
				cancel(err)
				return
			}
			results[i] = llm.ToolResult{CallID: c.ID, Name: c.Name, Text: ended.Text, IsError: !ended.Success}
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
	// entry is nil for a tool that is not there.
	entry *entry
	// arguments are what the tool is to get, and injected what it is not. bad says why there are none.
	arguments, injected json.RawMessage
	bad                 error
	// cut is true where the arguments may not be all.
	cut bool
	// nth counts the calls of the round that were the same and came before.
	nth int
	// span is that of the call, once it is being done.
	span parley.Span
}

// prepare reads the calls.
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

// outcome is how a call has ended.
type outcome struct {
	status     record.MetadataStatus
	text       string
	began      time.Time
	approval   record.ApprovalStatus
	approvalID string
}

// notRun is the outcome of a call that was not run.
func notRun(r *Result) *outcome {
	return &outcome{status: record.ToolError, text: r.Text, began: time.Now(), approval: record.NotRequired}
}

// do takes a call to its end. One whose end is in the record is not done again.
func (c *call) do(ctx context.Context) (*record.ToolEnded, error) {
	started, ended := c.Record.Tool(c.key)
	if ended != nil && ended.Tool == c.Name {
		return ended, nil
	}
	ctx, span := c.startSpan(ctx)
	defer span.End()
	c.span = span
	ended, err := c.perform(ctx, started)
	c.tellSpan(ctx, span, ended, err)
	return ended, err
}

// perform does what is to be done of a call, of which started says that an earlier attempt has begun it.
func (c *call) perform(ctx context.Context, started *record.ToolStarted) (*record.ToolEnded, error) {
	switch {
	case started != nil && started.Tool == c.Name:
		return c.again(ctx, started)
	case c.entry == nil:
		return c.end(
			ctx, notRun(
				(&problem{Error: "unknown_tool", Message: "There is no tool " + c.Name + ". It was not run.", Hint: "Of tools " +
					listed(c.set.names()) + "."}).result()))
	case c.cut:
		return c.end(
			ctx, notRun(
				(&problem{Error: "invalid_arguments", Message: "The answer was too long, and its call of " + c.Name +
					" was cut off, not run."}).result()))
	case c.bad != nil:
		return c.end(
			ctx, notRun(
				(&problem{Error: "invalid_arguments", Message: "The arguments of " + c.Name + " are not one JSON object: " +
					c.bad.Error() + ". It was not run."}).result()))
	}
	if wrong := c.entry.wrong(c.arguments); wrong != nil {
		return c.end(ctx, notRun(wrong))
	}
	g := &grant{arguments: c.arguments, status: record.NotRequired}
	if c.entry.gated {
		var err error
		if g, err = c.ask(ctx); err != nil {
			return nil, err
		}
		if g.refused != nil {
			return c.end(ctx, g.refused)
		}
	}
	return c.start(ctx, g)
}

// start writes that the tool runs, and runs it.
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

// again takes a call up that an earlier attempt has begun.
func (c *call) again(ctx context.Context, started *record.ToolStarted) (*record.ToolEnded, error) {
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
		text: "An earlier attempt of this turn has begun " + c.Name +
			", and was ended before it knew what came of it. It may have happened or not: find out before you call it again.",
	})
}

// run runs the tool.
func (c *call) run(ctx context.Context, g *grant) (*record.ToolEnded, error) {
	o := &outcome{status: record.ToolSuccess, began: time.Now(), approval: g.status, approvalID: g.id}
	p := c.newProgress(ctx)
	result, err := c.guarded(
		ctx, &Call{Key: c.callKey(), ID: c.ID, Arguments: g.arguments, Turn: c.Turn, Progress: p.tell, span: c.span})
	p.close()
	var l lost
	switch {
	case errors.As(err, &l):
		return nil, err
	case ctx.Err() != nil && (err != nil || result.IsError):
		return nil, context.Cause(ctx) // what it says may come of that
	case err != nil:
		o.status, o.text = record.ToolError, err.Error()
	default:
		o.text = result.Text
		if result.IsError {
			o.status = record.ToolError
		}
	}
	if g.edited {
		o.text = "[Whoever approved of it has changed the arguments to " + string(g.arguments) + "]\n" + o.text
	}
	return c.end(ctx, o)
}

// callKey gives the key of the call, which is the only one of all conversations.
func (c *call) callKey() string {
	return c.Turn.ConversationID + "." + strconv.FormatInt(c.Turn.Number, 10) + "." + c.key
}

// guarded runs the tool. A panic is an error.
func (c *call) guarded(ctx context.Context, tc *Call) (r *Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			c.box.o.Logger.Error("a tool panicked", "tool", c.Name, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			r, err = nil, fmt.Errorf("%w: %s has failed: panic: %v", llm.ErrTool, c.Name, v)
		}
	}()
	if r, err = c.entry.tool.Run(ctx, tc); r == nil && err == nil {
		return nil, fmt.Errorf("%w: %s gave nothing", llm.ErrTool, c.Name)
	}
	return r, err
}

// end writes what came of a call. When ctx has ended meanwhile that is tried all the same: the tool has run.
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
		t.Error = beginning(text, maxError)
	}
	var err error
	if t.Text, t.Metadata.OffloadedArtifactID, err = c.offload(ctx, text); err != nil {
		return nil, err
	}
	if err := c.Record.End(ctx, t); err != nil {
		return nil, err
	}
	c.box.o.Meter.Tool(string(o.status), time.Duration(took*float64(time.Millisecond)))
	return t, nil
}

// seconds gives Unix time.
func seconds(t time.Time) float64 { return float64(t.UnixMicro()) / 1e6 }
