package executors

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/parleyhub/parley"
)

// returned is how an agent has left its turn.
type returned struct {
	outcome  parley.TurnOutcome
	err      error
	panicked bool
	stray    <-chan struct{} // set when it has not; closed when it does
}

// call calls the agent. When ctx has ended the agent has Grace to return; when it has ended before, the agent is not called.
func (a *attempt) call(ctx context.Context) returned {
	var how returned
	if ctx.Err() != nil {
		return returned{err: context.Cause(ctx)}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		how = a.handle(ctx)
	}()
	select {
	case <-done:
		return how
	case <-ctx.Done():
	}
	t := time.NewTimer(a.opts.Grace)
	defer t.Stop()
	select {
	case <-done:
		return how
	case <-t.C:
	}
	a.log.Error("the agent does not return though its ctx has ended", "cause", context.Cause(ctx))
	return returned{err: context.Cause(ctx), stray: a.astray(done)}
}

// astray counts an agent that does not return until it does.
func (a *attempt) astray(done <-chan struct{}) <-chan struct{} {
	a.addStray(1)
	back := make(chan struct{})
	go func() {
		<-done
		a.addStray(-1)
		close(back)
	}()
	return back
}

func (r *runner) addStray(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.strays += n
}

// handle calls the agent; a panic is an error.
func (a *attempt) handle(ctx context.Context) (how returned) {
	defer func() {
		if v := recover(); v != nil {
			a.log.Error("the agent panicked", "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
			how = returned{err: fmt.Errorf("panic: %v", v), panicked: true}
		}
	}()
	outcome, err := a.agent.HandleTurn(ctx, a.turn)
	return returned{outcome: outcome, err: err}
}
