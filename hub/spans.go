package hub

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
)

// checkTraceparent refuses what is none; empty says nothing.
func checkTraceparent(s string) error {
	if s == "" || parley.ValidTraceparent(s) {
		return nil
	}
	return parley.Refuse(parley.ErrValidationFailed, "traceparent is not one", "a traceparent of W3C Trace Context, version 00")
}

// under gives the traceparent of a call: its own, else that of the context.
func under(ctx context.Context, own string) string { return cmp.Or(own, parley.TraceparentOf(ctx)) }

// turnSpan names the span of a turn. Everybody who reads the log finds the same: the id is made of the conversation and the turn, and so is the trace, where what is answered is in none.
type turnSpan struct {
	id      [8]byte
	trace   [16]byte
	answers string // the traceparent of what is answered; may be empty
}

func turnSpanOf(conversation string, turn int64, answers string) turnSpan {
	sum := sha256.Sum256([]byte("turn\x00" + conversation + "\x00" + strconv.FormatInt(turn, 10)))
	s := turnSpan{answers: answers}
	copy(s.id[:], sum[:8])
	copy(s.trace[:], sum[8:])
	return s
}

// The places in a traceparent where the trace and its dash end, and where the flags begin with theirs.
const (
	traceEnd   = 36
	flagsStart = 52
)

// traceparent names the span for who goes on under it. One without a parent is to be recorded, and one with a parent if that is, unless the tracer has it otherwise: who goes on below a span
// that nobody is told of, and is told himself, would belong to nothing.
func (s turnSpan) traceparent(told parley.Tracer) string {
	head, flags := "00-"+hex.EncodeToString(s.trace[:])+"-", "-01"
	if s.answers != "" {
		head, flags = s.answers[:traceEnd], s.answers[flagsStart:]
	}
	if t, ok := told.(parley.SamplingTracer); ok {
		flags = "-00"
		if t.Samples(s.start()) {
			flags = "-01"
		}
	}
	return head + hex.EncodeToString(s.id[:]) + flags
}

// start is how the span begins, but for what is known when the turn has ended.
func (s turnSpan) start() parley.SpanStart {
	return parley.SpanStart{Name: parley.SpanTurn, Parent: s.answers, ID: s.id, TraceID: s.trace}
}

// turnTrace gives what who takes the turn of an agent goes on under: the span of the turn where somebody is told of it, else that of what it answers; empty where there is none.
func (h *Hub) turnTrace(s *fold.State, agentID string) string {
	return h.traceOf(s, s.Answers(agentID))
}

func (h *Hub) traceOf(s *fold.State, answers string) string {
	if h.opts.Tracer == nil {
		return answers
	}
	return turnSpanOf(s.ID, s.CurrentTurn(), answers).traceparent(h.opts.Tracer)
}

// tracedLocked moves a desk to the current turn, and keeps turnTrace for who has the floor. It is asked for every commit, so it finds out who that is only where that makes a difference, and asks
// who samples spans once for a turn.
func (t *turns) tracedLocked(p *place, s *fold.State) {
	speaker := ""
	if len(s.Woken) > 0 {
		speaker = s.Floor().Speaker
	}
	turn, answers := s.CurrentTurn(), s.Answers(speaker)
	if turn == p.turn && answers == p.answers {
		return
	}
	p.turn, p.answers, p.trace = turn, answers, t.hub.traceOf(s, answers)
}

// tellTurn tells of the claimed turn that a batch from first on has ended, if it has ended one. What is told stands in the log.
func (h *Hub) tellTurn(s *fold.State, first int64) {
	w := s.Worked
	if h.opts.Tracer == nil || w == nil || w.Seq < first {
		return
	}
	span := turnSpanOf(s.ID, w.Turn, w.Traceparent).start()
	span.Name, span.At = parley.SpanTurn+w.Agent, w.From.Time()
	span.Attributes = []parley.Attribute{
		{Key: parley.AttrGenAIConversationID, Value: s.ID},
		{Key: parley.AttrGenAIAgentID, Value: w.AgentID},
		{Key: parley.AttrGenAIAgentName, Value: w.Agent},
		{Key: parley.AttrTurnNumber, Value: w.Turn},
		{Key: parley.AttrTurnAttempts, Value: w.Attempts},
		{Key: parley.AttrTurnOutcome, Value: w.Outcome},
	}
	if s.Workspace != "" {
		span.Attributes = append(span.Attributes, parley.Attribute{Key: parley.AttrWorkspace, Value: s.Workspace})
	}
	_, told := parley.StartSpan(parley.WithTracer(context.Background(), h.opts.Tracer), span)
	if w.Outcome != fold.WorkedFinal && w.Outcome != string(parley.TurnYielded) {
		told.Fail(w.Outcome)
	}
	told.EndAt(w.To.Time())
}
