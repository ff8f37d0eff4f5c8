package turns

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/desk"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/internal/spannames"
)

// turn is the current turn of a conversation, with the executors that were offered it.
type turn struct {
	desk.Desk
	id      string // of the conversation
	number  int64
	place   place // in the queues
	asked   []*executor
	trace   string    // the traceparent for the executor
	answers string    // the traceparent of what the turn answers
	retryAt desk.Time // no command of the hub is tried before
	yielded bool      // another hub was let act first
}

// demands returns where the turn is to wait, if it is the current one since a time.
func (t *turn) demands(since parley.Timestamp) place {
	p := place{since: since}
	for _, name := range t.Served() {
		for _, w := range []demand{{name, false}, {name, true}} {
			if t.Waits(w.serves, w.internal) {
				p.demands = append(p.demands, w)
			}
		}
	}
	return p
}

// withdraw ends the offers of the turn, and returns the executors that have room for others.
func (t *turn) withdraw() (freed []*executor) {
	freed, t.asked = t.asked, nil
	for _, x := range freed {
		delete(x.pending, t.id)
	}
	return freed
}

// expire ends the offers whose claim window is over, and returns the executors that have room for others.
func (t *turn) expire(now desk.Time) (freed []*executor) {
	t.asked = slices.DeleteFunc(t.asked, func(x *executor) bool {
		until, ok := x.pending[t.id]
		if ok && until > now {
			return false
		}
		delete(x.pending, t.id)
		freed = append(freed, x)
		return true
	})
	return freed
}

// yield lets another hub act first on what every hub finds due, once, for a time. The loss or return of
// a holder is known to one hub only and not delayed.
func (t *turn) yield(commands []fold.Command, now desk.Time, wait time.Duration) bool {
	isRenewal := func(c fold.Command) bool {
		_, ok := c.Do.(*fold.Renew)
		return ok
	}
	if wait == 0 || len(commands) == 0 || t.yielded || slices.ContainsFunc(commands, isRenewal) {
		t.yielded = false
		return false
	}
	t.yielded = true
	t.Again()
	t.retryAt = now + desk.Time(wait.Milliseconds())
	return true
}

// updateTrace moves the turn to the current one and updates its traceparent. It runs for every commit, so
// it looks for the speaker only if a trigger makes a difference, and asks the tracer once for each turn.
func (t *turn) updateTrace(s *fold.State, spans spans) {
	speaker := ""
	if len(s.Matches) > 0 {
		speaker = s.Floor().Speaker
	}
	number, answers := s.CurrentTurn(), s.AnsweredTraceparent(speaker)
	if number == t.number && answers == t.answers {
		return
	}
	t.number, t.answers, t.trace = number, answers, spans.traceparent(s, answers)
}

// records has the turns that are claimed or wait, and the open conversations.
type records struct {
	engine *conv.Engine

	mu    *sync.Mutex // Dispatcher.mu; guards the fields below
	turns map[string]*turn
	open  map[string]struct{}
}

func newRecords(mu *sync.Mutex, e *conv.Engine) *records {
	return &records{engine: e, mu: mu, turns: make(map[string]*turn), open: make(map[string]struct{})}
}

// recordLocked returns the turn of a conversation. It returns nil if no claim is current and no one waits
// for an executor, or if a later state came first.
func (r *records) recordLocked(s *fold.State) *turn {
	if s.Closed() {
		delete(r.open, s.ID)
	} else {
		r.open[s.ID] = struct{}{}
	}
	t := r.turns[s.ID]
	if t == nil {
		if s.Claim == nil && len(s.Asks()) == 0 {
			return nil
		}
		t = &turn{id: s.ID}
		r.turns[s.ID] = t
	}
	if s.Seq < t.Seq() {
		return nil
	}
	return t
}

// offerOf returns for which participant and which executor the id of a claim was made; empty if this hub
// has not made it for the current turn.
func (r *records) offerOf(conversation string, hash eventdata.ClaimHash) (agent, key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.turns[conversation]
	if t == nil {
		return "", ""
	}
	o, _ := t.Offered(hash)
	return o.AgentID, o.Executor
}

// HeldFor returns how long a claim has been held and how long it remains, in ms.
func (r *records) HeldFor(conversation string, hash eventdata.ClaimHash) (heldMs, leftMs int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if t := r.turns[conversation]; t != nil {
		return t.Watched(deskNow(r.engine), hash)
	}
	return 0, 0
}

// recovery loads every open conversation once after a start, so that all observers know it. It reads no
// closed one.
type recovery struct {
	engine   *conv.Engine
	sessions Sessions
	claims   *claims
	run      func(conversation string, cmd fold.Command) // decides a command of the hub
	done     chan struct{}                               // closed when every open conversation was loaded once
}

// Recovered reports whether every open conversation was loaded once after the start.
func (r *recovery) Recovered() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// AwaitRecovery waits until Recovered is true. It fails when ctx ends or the hub drains.
func (r *recovery) AwaitRecovery(ctx context.Context) error {
	select {
	case <-r.done:
		return nil
	case <-r.engine.Draining():
		return conv.ErrDraining
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Recover loads the open conversations.
func (r *recovery) Recover() {
	defer close(r.done)
	var after string
	for r.engine.Context().Err() == nil {
		open, err := r.engine.Journal().Open(after, 1000)
		if err != nil {
			r.engine.Log().Error("cannot list open conversations: their turns and time limits wait until they are used",
				"error", err)
			return
		}
		if len(open) == 0 {
			r.sessions.FinishRecovery()
			return
		}
		for _, id := range open {
			r.recoverOne(id)
		}
		after = open[len(open)-1]
	}
}

// recoverOne loads an open conversation, once or again, before a caller names its claim.
func (r *recovery) recoverOne(id string) {
	c, err := r.engine.Pin(id)
	if err != nil {
		return // the load has logged it, or the hub stops
	}
	defer r.engine.Unpin(c)
	var orphan *eventdata.ClaimHash
	c.ShowAtStart(func(s *fold.State) {
		if s.Claim != nil && s.Claim.Internal && r.claims.idOf(s.Claim.Hash) == "" { // else this process took it
			orphan = &s.Claim.Hash
		}
	})
	if orphan != nil && !r.engine.Shared() { // its executor was part of the process before
		end := &fold.EndClaim{Reason: parley.ClaimRestarted}
		r.run(id, fold.Command{Do: end, From: parley.HubID, Named: orphan})
	}
}

// turnSpan identifies the span of a turn. Every reader of the log computes the same one: the id is made
// of the conversation and the turn, and so is the trace if the turn answers no trace.
type turnSpan struct {
	id      [8]byte
	trace   [16]byte
	answers string // the traceparent of what the turn answers; may be empty
}

func newTurnSpan(conversation string, turn int64, answers string) turnSpan {
	sum := sha256.Sum256([]byte("turn\x00" + conversation + "\x00" + strconv.FormatInt(turn, 10)))
	s := turnSpan{answers: answers}
	copy(s.id[:], sum[:8])
	copy(s.trace[:], sum[8:])
	return s
}

// Offsets in a traceparent: the end of the trace and its dash, and the dash before the flags.
const (
	traceEnd   = 36
	flagsStart = 52
)

// traceparent returns the traceparent of the span. A span without a parent is sampled, and one with a
// parent if the parent is, unless the tracer samples differently. Else spans below an unsampled span
// would have no parent.
func (s turnSpan) traceparent(tracer parley.Tracer) string {
	head, flags := "00-"+hex.EncodeToString(s.trace[:])+"-", "-01"
	if s.answers != "" {
		head, flags = s.answers[:traceEnd], s.answers[flagsStart:]
	}
	if t, ok := tracer.(parley.SamplingTracer); ok {
		flags = "-00"
		if t.Samples(s.start()) {
			flags = "-01"
		}
	}
	return head + hex.EncodeToString(s.id[:]) + flags
}

// start is the beginning of the span, without what is known at the end of the turn.
func (s turnSpan) start() parley.SpanStart {
	return parley.SpanStart{Name: spannames.SpanTurn, Parent: s.answers, ID: s.id, TraceID: s.trace}
}

type spans struct {
	tracer parley.Tracer // nil: none
}

// traceparent returns the traceparent for the executor of the current turn: that of the turn's span if
// there is a tracer, else that of what the turn answers, which may be empty.
func (a spans) traceparent(s *fold.State, answers string) string {
	if a.tracer == nil {
		return answers
	}
	return newTurnSpan(s.ID, s.CurrentTurn(), answers).traceparent(a.tracer)
}

// ReportTurn reports the span of a claimed turn that the events from seq first on ended, if there is
// one. Everything in it is in the log.
func (a spans) ReportTurn(s *fold.State, first int64) {
	w := s.EndedTurn
	if a.tracer == nil || w == nil || w.Seq < first {
		return
	}
	start := newTurnSpan(s.ID, w.Turn, w.Traceparent).start()
	start.Name, start.At = spannames.SpanTurn+w.Agent, w.From.Time()
	start.Attributes = []parley.Attribute{
		{Key: spannames.AttrGenAIConversationID, Value: s.ID},
		{Key: spannames.AttrGenAIAgentID, Value: w.AgentID},
		{Key: spannames.AttrGenAIAgentName, Value: w.Agent},
		{Key: spannames.AttrTurnNumber, Value: w.Turn},
		{Key: spannames.AttrTurnAttempts, Value: w.Attempts},
		{Key: spannames.AttrTurnOutcome, Value: w.Outcome},
	}
	if s.Workspace != "" {
		start.Attributes = append(start.Attributes, parley.Attribute{Key: spannames.AttrWorkspace, Value: s.Workspace})
	}
	_, span := parley.StartSpan(parley.WithTracer(context.Background(), a.tracer), start)
	if w.Outcome != fold.TurnFinal && w.Outcome != string(parley.TurnYielded) {
		span.Fail(w.Outcome)
	}
	span.EndAt(w.To.Time())
}
