package record

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"

	"github.com/parleyhub/parley"
)

// Log is the record of one turn. Its methods may be called from any goroutine.
type Log struct {
	turn *parley.Turn

	mu    sync.Mutex // guards the fields below
	steps map[place]*Step
	bound map[place]bool // the steps before something was done or asked
	tools map[string]*run
	all   []ToolEnded                  // in order
	said  map[string][]json.RawMessage // the traces of other kinds
}

// place is where a step stands in its turn.
type place struct {
	phase  Phase
	number int
}

// run is what is written of one tool.
type run struct {
	started *ToolStarted
	ended   *ToolEnded
}

// Open reads what earlier attempts of a turn have left, those before a restart of the hub too.
func Open(ctx context.Context, turn *parley.Turn) (*Log, error) {
	l := &Log{turn: turn, steps: map[place]*Step{}, bound: map[place]bool{}, tools: map[string]*run{},
		said: map[string][]json.RawMessage{}}
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

// read takes what a trace of this turn says, and that an approval was asked for. A trace that is not understood says nothing: what it tells of is done again.
func (l *Log) read(e *parley.Event) {
	if e.Type == parley.TypeSystem {
		l.readAsked(e)
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
			l.keepSaid(t.Kind, data)
		}
	}
}

// readAsked takes that this turn has asked for an approval: that was for a tool of the steps before.
func (l *Log) readAsked(e *parley.Event) {
	s, err := e.System()
	if err != nil || s.Kind != parley.KindApprovalRequested || s.Turn != l.turn.Number || s.AgentID != l.turn.AgentID {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bindLocked()
}

// bindLocked makes the steps that are there binding: something was done because of them.
func (l *Log) bindLocked() {
	for at := range l.steps {
		if at.phase == PhasePlan || at.phase == PhaseExecute { // the others have no tools
			l.bound[at] = true
		}
	}
}

// read decodes data for keep.
func read[T any](data json.RawMessage, keep func(*T)) {
	v := new(T)
	if data, err := unwrap(data); err == nil && json.Unmarshal(data, v) == nil {
		keep(v)
	}
}

// keepStep notes a step. It never takes the place of one that is binding.
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

func (l *Log) keepSaid(kind string, data json.RawMessage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said[kind] = append(l.said[kind], data)
}

// ToolKey gives the key of a tool: the place of the call in its step is a number, or empty for what the keys of all calls of the step begin with.
func ToolKey(phase Phase, step int, index string) string {
	return string(phase) + "." + strconv.Itoa(step) + "." + index
}

// Step gives the answer that an earlier attempt has got to the very same question. A step that is binding is the answer to any: once a tool has begun after it, or an approval was asked for,
// the turn goes on from there, whatever has changed in the agent, its tools or its model. So nothing is done twice, and what somebody has approved of is done once.
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

// AddStep writes an answer, and returns when it is durable. A text that is too large for an event is cut in s too: this attempt goes on with what the next one would read.
func (l *Log) AddStep(ctx context.Context, s *Step) error {
	if err := l.write(ctx, KindStep, "", s, s.cut); err != nil {
		return err
	}
	c := *s
	l.keepStep(&c)
	return nil
}

// Tool gives what an earlier attempt, or this one, has written of a tool: both nil when it has not begun.
func (l *Log) Tool(key string) (*ToolStarted, *ToolEnded) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.tools[key]
	if r == nil {
		return nil, nil
	}
	return r.started, r.ended
}

// Start writes that a tool runs, and returns when that is durable.
func (l *Log) Start(ctx context.Context, t *ToolStarted) error {
	if err := l.write(ctx, KindToolStarted, t.Tool, t, t.cut); err != nil {
		return err
	}
	c := *t
	l.keepStarted(&c)
	return nil
}

// End writes what came of a tool, and returns when it is durable. A text that is too large for an event is cut in t too.
func (l *Log) End(ctx context.Context, t *ToolEnded) error {
	if err := l.write(ctx, KindToolResult, t.Tool, t, t.cut); err != nil {
		return err
	}
	c := *t
	l.keepEnded(&c)
	return nil
}

// Say writes a trace of another kind.
func (l *Log) Say(ctx context.Context, kind, text string, data any) error {
	return l.write(ctx, kind, text, data, nil)
}

// Said are the data of the traces of another kind that earlier attempts of this turn have left, in the order of the log.
func (l *Log) Said(kind string) []json.RawMessage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.said[kind]
}

// Ended are the tools that have ended in this turn, in the order of the log, those of earlier attempts too.
func (l *Log) Ended() []ToolEnded {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]ToolEnded(nil), l.all...)
}

// write adds a trace. What does not fit is cut, or else left out with a mark.
func (l *Log) write(ctx context.Context, kind, text string, v any, cut func(most int)) error {
	data, err := encode(v, cut)
	if err != nil {
		return fmt.Errorf("write %s: %w", kind, err)
	}
	_, err = l.turn.Trace(ctx, parley.Trace{Kind: kind, Text: Cut(text, maxSaid), Data: data})
	if err != nil {
		return fmt.Errorf("write %s: %w", kind, err)
	}
	return nil
}
