package blueprint

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/function"
	"github.com/parleyhub/parley/executors/process"
	"github.com/parleyhub/parley/executors/work"
)

// StopWait is the time between SIGTERM and SIGKILL of a command. It also limits the last trace of a
// session.
const StopWait = time.Second

// Options are the options of New. Nil and the zero value are ready to use.
type Options struct {
	// URL is the address of the hub, for commands that start sessions. They get it with a token. If
	// it is empty, they get neither.
	URL string
	// Processes runs the commands. The default is a shared pool.
	Processes *process.Pool
	// Functions are the functions of the program by agent name.
	Functions function.Set
}

// Agent runs the commands, functions and workflows of a Set, one job for each turn of a session or
// seat. It keeps no state between turns, so one value serves any number of conversations
// concurrently.
type Agent struct {
	set *Set
	o   Options

	mu   sync.Mutex // guards the field below
	jobs map[*File]*work.Agent
}

var _ parley.Agent = (*Agent)(nil)

// New returns an agent for all blueprints of a set except LLM agents.
func New(set *Set, o *Options) *Agent {
	a := &Agent{set: set, jobs: map[*File]*work.Agent{}}
	if o != nil {
		a.o = *o
	}
	return a
}

// job returns the agent of a blueprint.
func (a *Agent) job(name string) (*work.Agent, error) {
	f := a.set.File(name)
	if f == nil {
		return nil, fmt.Errorf("the blueprint %s no longer exists here", name)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if job := a.jobs[f]; job != nil {
		return job, nil
	}
	w, o := a.work(f)
	if w == nil {
		return nil, fmt.Errorf("the blueprint %s is not a command, a workflow or a function of this program", name)
	}
	b := f.Blueprint()
	job, err := work.New(&b, w, o)
	if err != nil {
		return nil, err
	}
	a.jobs[f] = job
	return job, nil
}

// work returns the implementation of a file and its options. It returns nil for an LLM agent, and
// for an unknown function.
func (a *Agent) work(f *File) (work.Work, *work.Options) {
	switch f.Type {
	case parley.AgentTypeDeterministic:
		o := &work.Options{Unbounded: true, Missing: "the command did not write JSON alone to stdout"}
		if !f.Idempotent {
			o.Once = errInterrupted
		}
		return &program{Agent: a, file: f}, o
	case parley.AgentTypeWorkflow:
		return f.Plan, nil
	case parley.AgentTypeFunction:
		if do := a.o.Functions[f.Name]; do != nil {
			return do, nil
		}
	}
	return nil, nil
}

// errInterrupted is the error of a session whose command was interrupted, in the words of seed 000,
// section 11. An executor releases its claim with this text. If the claim was lost, the hub already
// ended the session.
//
//lint:ignore ST1005 the text is part of results in the seed
var errInterrupted = errors.New("Runner disconnected during execution")

// HandleTurn does the job of a session and closes it with its result, or does the job of a seat and
// posts it. An error means that there is no result: the attempt failed, the claim was lost, or the
// executor stopped.
func (a *Agent) HandleTurn(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
	name, _, _ := strings.Cut(turn.Agent, "@")
	job, err := a.job(name)
	if err != nil {
		return "", err
	}
	return job.HandleTurn(ctx, turn)
}

// program is a command as a Work.
type program struct {
	*Agent
	file *File
}

var _ work.Work = (*program)(nil)

// session is one run of a command.
type session struct {
	*program
	job     *work.Job
	turn    *parley.Turn
	timeout time.Duration
	trace   string // traceparent of the conversation; may be empty
	log     *slog.Logger
}

// Execute runs the command to its end.
func (p *program) Execute(ctx context.Context, j *work.Job) (*work.Output, error) {
	s := &session{program: p, job: j, turn: j.Turn, timeout: p.file.Timeout, trace: traceOf(j.Metadata),
		log: j.Turn.Logger}
	if j.Session != nil && j.Session.TimeoutMs > 0 {
		s.timeout = min(s.timeout, time.Duration(j.Session.TimeoutMs)*time.Millisecond) // the claim lasts no longer
	}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	e, err := s.execute(ctx)
	if err != nil {
		return nil, err
	}
	return e.output(), nil
}
