package turns

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strconv"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/internal/spannames"
)

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

// spans makes the spans of turns.
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
