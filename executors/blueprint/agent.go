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

// StopWait is how long a command has between SIGTERM and SIGKILL, and how long the last of a session may take when its turn is over.
const StopWait = time.Second

// Options are for New. Nil and the zero value are useful.
type Options struct {
	// URL is where the hub is, for commands that start sessions of their own: they get it with a token. Empty, they get neither.
	URL string
	// Processes runs the commands; nil, a pool that all share.
	Processes *process.Pool
	// Functions are those of the program, by the names of their agents.
	Functions function.Set
}

// Agent runs the commands, functions and workflows of a Set, one job for each turn of a session or of a seat. It keeps nothing between turns, so one value serves any number of
// conversations at once.
type Agent struct {
	set *Set
	o   Options

	mu   sync.Mutex // guards the field below
	jobs map[*File]*work.Agent
}

var _ parley.Agent = (*Agent)(nil)

// New makes an agent that speaks for all blueprints of a set but LLM agents.
func New(set *Set, o *Options) *Agent {
	a := &Agent{set: set, jobs: map[*File]*work.Agent{}}
	if o != nil {
		a.o = *o
	}
	return a
}

// job gives the agent of a blueprint.
func (a *Agent) job(name string) (*work.Agent, error) {
	f := a.set.File(name)
	if f == nil {
		return nil, fmt.Errorf("there is no blueprint %s here any more", name)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if job := a.jobs[f]; job != nil {
		return job, nil
	}
	w, o := a.work(f)
	if w == nil {
		return nil, fmt.Errorf("the blueprint %s is none of a command, workflow or function of this program", name)
	}
	b := f.Blueprint()
	job, err := work.New(&b, w, o)
	if err != nil {
		return nil, err
	}
	a.jobs[f] = job
	return job, nil
}

// work is what a file has done, and how; nil for an LLM agent, and for a function that is not there.
func (a *Agent) work(f *File) (work.Work, *work.Options) {
	switch f.Type {
	case parley.AgentTypeDeterministic:
		o := &work.Options{Unbounded: true, Missing: "the command has not written JSON to stdout, and nothing but that"}
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

// errInterrupted is why a session ends whose command was not let come to its end, in the words of the seed (000, section 11). An executor gives its claim back with
// these words; where the claim was lost the hub has ended the session already.
//
//lint:ignore ST1005 it stands in results as it does in the seed
var errInterrupted = errors.New("Runner disconnected during execution")

// HandleTurn does the job of a session and closes it with its result, whatever that is, or that of a seat and says it. An error says that there is none: the attempt has failed, the claim was
// lost, or the executor has stopped.
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

// session is one run of one command.
type session struct {
	*program
	job     *work.Job
	turn    *parley.Turn
	timeout time.Duration
	trace   string // the traceparent of the conversation; empty without one
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
