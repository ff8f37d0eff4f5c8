package executors

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/parleyhub/parley"
)

// returned is the result of a call of the agent.
type returned struct {
	outcome  parley.TurnOutcome
	err      error
	panicked bool
	stray    <-chan struct{} // not nil if the agent did not return; closed when it does
}

// call calls the agent. After the end of ctx the agent has Grace to return. If ctx is done before,
// the agent is not called.
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
	a.log.Error("the agent did not return after the end of its ctx", "cause", context.Cause(ctx))
	return returned{err: context.Cause(ctx), stray: a.watchStray(done)}
}

// watchStray counts an agent that did not return until it does.
func (a *attempt) watchStray(done <-chan struct{}) <-chan struct{} {
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

// handle calls the agent, and returns a panic as an error.
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
