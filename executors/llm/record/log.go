package record

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"github.com/parleyhub/parley"
)

// Log is the record of one turn. It is safe for concurrent use.
type Log struct {
	turn *parley.Turn

	mu     sync.Mutex // guards the fields below
	steps  map[place]*Step
	bound  map[place]bool // steps before a tool call or an approval
	tools  map[string]*run
	all    []ToolEnded                  // in the order of the log
	others map[string][]json.RawMessage // other traces by kind
}

// place is the position of a step in its turn.
type place struct {
	phase  Phase
	number int
}

// run has the traces of one tool call.
type run struct {
	started *ToolStarted
	ended   *ToolEnded
}

// Open reads the traces of earlier attempts of a turn.
func Open(ctx context.Context, turn *parley.Turn) (*Log, error) {
	l := &Log{turn: turn, steps: map[place]*Step{}, bound: map[place]bool{}, tools: map[string]*run{},
		others: map[string][]json.RawMessage{}}
	for since := turn.SinceSeq; ; {
		page, err := turn.Client.Tail(
			ctx, &parley.TailParams{ConversationID: turn.ConversationID, SinceSeq: since, Limit: parley.MaxPage})
		if err != nil {
			return nil, fmt.Errorf("read the record of turn %d: %w", turn.Number, err)
		}
		for i := range page.Events {
			l.read(&page.Events[i])
		}
		if page.NextSeq >= page.LatestSeq || page.NextSeq <= since {
			return l, nil
		}
		since = page.NextSeq
	}
}

// read handles a trace of this turn, or a requested approval. It ignores an invalid trace, so the
// step or the call is repeated.
func (l *Log) read(e *parley.Event) {
	if e.Type == parley.TypeSystem {
		l.readApproval(e)
		return
	}
	if e.Type != parley.TypeTrace || e.Turn != l.turn.Number || e.From != l.turn.AgentID {
		return
	}
	var t parley.Trace
	if json.Unmarshal(e.Payload, &t) != nil {
		return
	}
	switch t.Kind {
	case KindStep:
		read(t.Data, l.keepStep)
	case KindToolStarted:
		read(t.Data, l.keepStarted)
	case KindToolResult:
		read(t.Data, l.keepEnded)
	default:
		if data, err := unwrap(t.Data); err == nil {
			l.keepTrace(t.Kind, data)
		}
	}
}

// readApproval handles an approval that this turn requested for a tool of the earlier steps.
func (l *Log) readApproval(e *parley.Event) {
	s, err := e.System()
	if err != nil || s.Kind != parley.KindApprovalRequested || s.Turn != l.turn.Number || s.AgentID != l.turn.AgentID {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bindLocked()
}

// bindLocked marks the current steps as binding, because a tool or an approval followed.
func (l *Log) bindLocked() {
	for at := range l.steps {
		if at.phase == PhasePlan || at.phase == PhaseExecute { // other phases have no tools
			l.bound[at] = true
		}
	}
}

// read decodes data and calls keep.
func read[T any](data json.RawMessage, keep func(*T)) {
	v := new(T)
	if data, err := unwrap(data); err == nil && json.Unmarshal(data, v) == nil {
		keep(v)
	}
}

// keepStep stores a step, except if a binding step exists.
func (l *Log) keepStep(s *Step) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := place{s.Phase, s.Number}
	if l.bound[at] {
		return
	}
	l.steps[at] = s
}

func (l *Log) keepStarted(t *ToolStarted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tools[t.Key] = &run{started: t}
	l.bindLocked()
}

func (l *Log) keepEnded(t *ToolEnded) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.tools[t.Key]
	if r == nil {
		r = &run{}
		l.tools[t.Key] = r
	}
	r.ended = t
	l.bindLocked()
	l.all = append(l.all, *t)
}

func (l *Log) keepTrace(kind string, data json.RawMessage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.others[kind] = append(l.others[kind], data)
}

// ToolKey returns the key of a tool call. index is the position of the call in its step. With an
// empty index, the result is the prefix of the keys of all calls of the step.
func ToolKey(phase Phase, step int, index string) string {
	return string(phase) + "." + strconv.Itoa(step) + "." + index
}

// Step returns the recorded answer to a question, which the hash identifies. After a tool call or
// an approval, the step is binding: it is the answer to any question, even if the agent, its tools
// or its model changed. So no action is repeated, and an approved call runs once.
func (l *Log) Step(phase Phase, number int, inputHash string) (*Step, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := place{phase, number}
	s := l.steps[at]
	if s == nil || s.InputHash != inputHash && !l.bound[at] {
		return nil, false
	}
	c := *s
	return &c, true
}

// AddStep writes an answer, and returns when it is durable. It also cuts a text in s that is too
// large, so that this attempt continues with the same text as the next one.
func (l *Log) AddStep(ctx context.Context, s *Step) error {
	if err := l.write(ctx, KindStep, "", s, s.cut); err != nil {
		return err
	}
	c := *s
	l.keepStep(&c)
	return nil
}

// Tool returns the recorded start and end of a tool call. Both are nil if the call was not started.
func (l *Log) Tool(key string) (*ToolStarted, *ToolEnded) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.tools[key]
	if r == nil {
		return nil, nil
	}
	return r.started, r.ended
}

// Start records the start of a tool call, and returns when it is durable.
func (l *Log) Start(ctx context.Context, t *ToolStarted) error {
	if err := l.write(ctx, KindToolStarted, t.Tool, t, t.cut); err != nil {
		return err
	}
	c := *t
	l.keepStarted(&c)
	return nil
}

// End records the end of a tool call, and returns when it is durable. It also cuts a text in t that
// is too large.
func (l *Log) End(ctx context.Context, t *ToolEnded) error {
	if err := l.write(ctx, KindToolResult, t.Tool, t, t.cut); err != nil {
		return err
	}
	c := *t
	l.keepEnded(&c)
	return nil
}

// AddTrace writes a trace of another kind.
func (l *Log) AddTrace(ctx context.Context, kind, text string, data any) error {
	return l.write(ctx, kind, text, data, nil)
}

// Traces returns the data of the traces of another kind that earlier attempts of this turn wrote,
// in the order of the log.
func (l *Log) Traces(kind string) []json.RawMessage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.others[kind]
}

// Ended returns the tool calls of this turn with a recorded end, including earlier attempts, in the
// order of the log.
func (l *Log) Ended() []ToolEnded {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]ToolEnded(nil), l.all...)
}

// write writes a trace. Data that is too large is cut, or replaced by a mark.
func (l *Log) write(ctx context.Context, kind, text string, v any, cut func(most int)) error {
	data, err := encode(v, cut)
	if err != nil {
		return fmt.Errorf("write %s: %w", kind, err)
	}
	_, err = l.turn.Trace(ctx, parley.Trace{Kind: kind, Text: Cut(text, maxText), Data: data})
	if err != nil {
		return fmt.Errorf("write %s: %w", kind, err)
	}
	return nil
}
