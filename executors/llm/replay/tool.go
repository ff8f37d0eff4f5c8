package replay

import (
	"context"
	"fmt"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/tool"
)

// recorded is a tool whose runs are recorded, or played back.
type recorded struct {
	c     *Cassette
	inner tool.Tool
}

// repeatable is one that may be run again.
type repeatable struct{ *recorded }

var (
	_ tool.Tool       = (*recorded)(nil)
	_ tool.Repeatable = repeatable{}
)

func (repeatable) Repeatable() {}

// Tool is a tool that records what t gives, or plays it back without running t, by the mode of the cassette. It is Repeatable where t is.
func (c *Cassette) Tool(t tool.Tool) tool.Tool {
	r := &recorded{c, t}
	if _, ok := t.(tool.Repeatable); ok {
		return repeatable{r}
	}
	return r
}

func (r *recorded) Spec() llm.ToolSpec { return r.inner.Spec() }

func (r *recorded) Run(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	name := r.inner.Spec().Name
	asked, err := sorted(call.Arguments)
	if err != nil {
		return nil, fmt.Errorf("the arguments are no JSON: %w", err)
	}
	e := &entry{Tool: name, Hash: hashOf("tool", name, asked), Request: asked}
	if was, ok := r.c.take(e.Hash); ok {
		return was.rerun(ctx, call)
	}
	if r.c.mode == Play {
		return nil, r.c.missing(e)
	}
	return r.record(ctx, call, e)
}

func (r *recorded) record(ctx context.Context, call *tool.Call, e *entry) (*tool.Result, error) {
	heard := *call
	progress := &progressLog{pass: call.Progress}
	heard.Progress = progress.hear
	res, err := r.inner.Run(ctx, &heard)
	e.Progress = progress.all()
	switch {
	case err == nil && res != nil:
		e.Result = &result{text(res.Text), res.IsError}
	case err == nil:
		e.Result = &result{}
	case ctx.Err() != nil:
		e.Cut = true
	default:
		e.Error = &failure{Message: text(err.Error())}
	}
	if kept := r.c.add(e); kept != nil && !e.Cut {
		return nil, kept
	}
	return res, err
}

// rerun gives what was recorded.
func (e *entry) rerun(ctx context.Context, call *tool.Call) (*tool.Result, error) {
	for _, p := range e.Progress {
		call.Progress(p)
	}
	switch {
	case e.Cut:
		<-ctx.Done()
		return nil, ctx.Err()
	case e.Error != nil:
		return nil, e.Error.err()
	}
	return &tool.Result{Text: string(e.Result.Text), IsError: e.Result.IsError}, nil
}
