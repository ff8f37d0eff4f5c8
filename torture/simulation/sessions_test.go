package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

// start begins sessions out of the parent, in all modes, some of them with a key that was used.
func (w *world) start(c parley.Client) {
	r := w.random("starter")
	for count := 0; w.pause(between(r, 0, 6*w.plan.pace)); count++ {
		number := count
		if count > 0 && r.IntN(4) == 0 {
			number = r.IntN(count)
		}
		// The mode goes with the key: another would be another request.
		mode := []parley.SessionMode{parley.ModeAsyncCallback, parley.ModeSync, parley.ModeAsyncCallback,
			parley.ModeAsyncPoll}[number%4]
		key := fmt.Sprint("session.", number)
		ctx, cancel := context.WithTimeout(w.bounded, 3*time.Second)
		s, err := c.StartSession(ctx, &parley.StartSessionParams{
			AgentName: "count", Parameters: json.RawMessage(`{"n":1}`), Mode: mode, ParentConversationID: parent,
			TimeoutMs: 200, ClientRequestID: key,
		})
		cancel()
		w.note("s starts %s: %v", key, err)
		w.began(key, mode, s, err)
	}
}

// began notes the answer to the start of a session.
func (h *history) began(key string, mode parley.SessionMode, s *parley.Session, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.starts[key]
	if b == nil {
		b = &starting{key: key, parent: parent, mode: mode, sessions: make(map[string]bool)}
		h.starts[key] = b
	}
	switch outcomeOf(err) {
	case acked:
		b.sure, b.sessions[s.SessionID] = true, true
	case uncertain:
		b.maybe = true
	}
}

// runCommands is the runner: it ends the sessions that it is offered, most of them well.
func (w *world) runCommands(c parley.Client) {
	x := w.executor("box", c)
	ctx, cancel := context.WithCancel(w.bounded)
	defer cancel()
	x.jobs.Go(func() {
		<-w.ended
		cancel()
	})
	p := &parley.RegisterExecutorParams{ExecutorID: "box", Mode: parley.ModePush, Agents: []string{}, Capacity: 50,
		GraceMs: limits.OfflineMs}
	for n, err := range c.RegisterExecutor(ctx, p, x.held) {
		switch {
		case err != nil && !w.isOver():
			w.problem(noPromise, "box is no executor any more: %v", err)
		case n.Registered != nil:
			x.jobs.Go(func() { x.offer(ctx) })
		case n.RequestTurn != nil:
			x.jobs.Go(func() { x.runCommand(n.RequestTurn) })
		}
	}
	x.jobs.Wait()
}

// offer says which commands it runs.
func (x *executor) offer(ctx context.Context) {
	_, err := x.c.RegisterBlueprints(ctx, &parley.RegisterBlueprintsParams{Blueprints: []parley.Blueprint{{
		Name: "count", ParametersSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`),
		TimeoutMs: 20_000, Idempotent: true,
	}}})
	x.note("box has registered: %v", err)
}

func (x *executor) runCommand(o *parley.RequestTurn) {
	x.pause(time.Duration(x.draw(100)) * time.Millisecond)
	x.hold(o.ClaimID, true)
	defer x.hold(o.ClaimID, false)
	ctx, cancel := context.WithTimeout(x.bounded, 20*time.Second)
	defer cancel()
	_, err := x.c.ClaimTurn(ctx, &parley.ClaimTurnParams{ConversationID: o.ConversationID, ClaimID: o.ClaimID})
	x.note("box takes %s: %v", o.ConversationID, err)
	if err != nil || x.draw(12) == 0 { // it hangs: its time ends it
		return
	}
	x.pause(time.Duration(x.draw(300)) * time.Millisecond)
	_, err = x.c.SendMessage(ctx, &parley.SendMessageParams{
		ConversationID: o.ConversationID, ClaimID: o.ClaimID, Finality: parley.FinalityConversation,
		Outcome: &parley.Outcome{Status: parley.OutcomeCompleted}, ClientRequestID: "end",
		Payload: json.RawMessage(`{"result":{"result_type":"deterministic","result_text":"1","exit_code":0}}`),
	})
	x.note("box ends %s: %v", o.ConversationID, err)
}
