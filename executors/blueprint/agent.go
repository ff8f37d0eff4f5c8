package blueprint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/process"
)

// StopWait is how long a command has between SIGTERM and SIGKILL, and how long the last of a session may take when its turn is over.
const StopWait = time.Second

// Options are for New. Nil and the zero value are useful.
type Options struct {
	// URL is where the hub is, for commands that start sessions of their own: they get it with a token. Empty, they get neither.
	URL string
	// Processes runs the commands; nil, a pool that all share.
	Processes *process.Pool
}

// Agent runs the commands of a Set, one for each turn of a session. It keeps nothing between turns, so one value serves any number of sessions at once.
type Agent struct {
	set *Set
	o   Options
}

var _ parley.Agent = (*Agent)(nil)

// New makes an agent that speaks for all blueprints of a set.
func New(set *Set, o *Options) *Agent {
	a := &Agent{set: set}
	if o != nil {
		a.o = *o
	}
	return a
}

// errInterrupted is why a session ends whose command was not let come to its end, in the words of the seed (000, section 11). An executor gives its claim back with
// these words; where the claim was lost the hub has ended the session already.
//
//lint:ignore ST1005 it stands in results as it does in the seed
var errInterrupted = errors.New("Runner disconnected during execution")

// HandleTurn runs the command of a session and closes the session with its result, whatever that is. An error says that there is none: the turn was no
// session's, the claim was lost, or the executor has stopped.
func (a *Agent) HandleTurn(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
	s, err := a.session(ctx, turn)
	if err != nil {
		return "", err
	}
	if turn.Attempt > 1 && !s.file.Idempotent {
		return "", errInterrupted // it was started before
	}
	e, err := s.execute(ctx)
	if err != nil {
		return "", err
	}
	if ctx.Err() != nil { // the command came to its end just before
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(context.WithoutCancel(ctx), StopWait)
		defer cancel()
	}
	if err := s.conclude(ctx, e); err != nil {
		return "", err
	}
	return parley.TurnComplete, nil
}

// session is one run of one blueprint.
type session struct {
	*Agent
	turn       *parley.Turn
	file       *File
	timeout    time.Duration
	parameters json.RawMessage
	trace      string // the traceparent of the conversation; empty without one
	log        *slog.Logger
}

// session reads what a turn is about.
func (a *Agent) session(ctx context.Context, turn *parley.Turn) (*session, error) {
	c, err := turn.Client.GetConversation(ctx, &parley.GetConversationParams{ConversationID: turn.ConversationID, Limit: firstEvents})
	if err != nil {
		return nil, err
	}
	if !c.Session.Deterministic() {
		return nil, fmt.Errorf("the conversation is no session of a deterministic agent: expected one")
	}
	name, _, _ := strings.Cut(c.Session.Agent, "@")
	s := &session{Agent: a, turn: turn, file: a.set.File(name), trace: traceOf(c.Metadata), log: turn.Logger}
	if s.file == nil || s.file.IsAgent() {
		return nil, fmt.Errorf("there is no blueprint %s here any more", name)
	}
	s.timeout = s.file.Timeout
	if granted := time.Duration(c.Session.TimeoutMs) * time.Millisecond; granted > 0 {
		s.timeout = min(s.timeout, granted) // the claim lasts no longer
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.parameters, err = parametersOf(ctx, turn, c)
	return s, err
}

// firstEvents is how many events of a session are read at once: the message of its caller comes with its creation.
const firstEvents = 4

// parametersOf gives what the caller has said first.
func parametersOf(ctx context.Context, turn *parley.Turn, c *parley.Snapshot) (json.RawMessage, error) {
	events, next := c.Events, c.NextSeq
	for {
		for _, e := range events {
			if e.Type == parley.TypeMessage && e.From == c.Session.Caller {
				m, err := e.Message()
				return m.Parameters, err
			}
		}
		if next >= c.LatestSeq {
			return nil, fmt.Errorf("the session has no message of its caller: expected its parameters")
		}
		page, err := turn.Client.Tail(ctx, &parley.TailParams{ConversationID: turn.ConversationID, SinceSeq: next, Limit: firstEvents})
		if err != nil {
			return nil, err
		}
		events, next = page.Events, page.NextSeq
	}
}

// conclude closes the session with what came of its command.
func (s *session) conclude(ctx context.Context, e *ending) error {
	r, err := s.result(ctx, e)
	if err != nil {
		return err
	}
	o := parley.Outcome{Status: parley.OutcomeCompleted}
	if r.Error != "" {
		o = parley.Outcome{Status: parley.OutcomeFailed, Reason: e.reason}
	}
	_, err = s.turn.Complete(ctx, parley.Message{Result: r}, o)
	return err
}
