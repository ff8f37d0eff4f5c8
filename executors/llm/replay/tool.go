package replay

import (
	"context"
	"fmt"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/tool"
)

// recorded is a tool whose runs are recorded or replayed.
type recorded struct {
	c     *Cassette
	inner tool.Tool
}

// repeatable is a recorded tool that may be run again.
type repeatable struct{ *recorded }

var (
	_ tool.Tool       = (*recorded)(nil)
	_ tool.Repeatable = repeatable{}
)

func (repeatable) Repeatable() {}

// Tool returns a tool that records or replays the results of t, depending on the mode. It is
// Repeatable if t is.
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
		return nil, fmt.Errorf("the arguments are not JSON: %w", err)
	}
	e := &entry{Tool: name, Hash: hashOf("tool", name, asked), Request: asked}
	if was, ok := r.c.take(e.Hash); ok {
		return was.replay(ctx, call)
	}
	if r.c.mode == Play {
		return nil, r.c.missing(e)
	}
	return r.record(ctx, call, e)
}

func (r *recorded) record(ctx context.Context, call *tool.Call, e *entry) (*tool.Result, error) {
	heard := *call
	progress := &progressLog{forward: call.Progress}
	heard.Progress = progress.add
	res, err := r.inner.Run(ctx, &heard)
	e.Progress = progress.all()
	switch {
	case err == nil && res != nil:
		e.Result = resultOf(res)
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

// replay returns the recorded result.
func (e *entry) replay(ctx context.Context, call *tool.Call) (*tool.Result, error) {
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
	return e.Result.result()
}
