package executors

import (
	"cmp"
	"context"

	"github.com/parleyhub/parley"
)

// Executor is an agent with the client through which it takes its turns.
type Executor struct {
	client parley.Client
	agent  parley.Agent
	opts   Options
}

// Internal makes the executor of an agent that runs inside the hub's process: client is one of hub.Hub.Client. It may take the seats whose executor is
// internal or any. Its claims end with the process: a hub that is started again ends them at once, and that is no attempt. Without Options.ExecutorID it has
// one made of the client's id; a second one beside it needs an id of its own.
func Internal(client parley.Client, agent parley.Agent, o *Options) *Executor {
	var d Options
	if o != nil {
		d = *o
	}
	if id := "internal." + client.AgentID(); parley.ValidParticipantID(id) {
		d.ExecutorID = cmp.Or(d.ExecutorID, id)
	}
	return newExecutor("internal", client, agent, &d)
}

// External makes the executor of an agent in a process of its own: client is one of sdk.Dial. It may take the seats whose executor is external or
// any. Its claims outlive a lost connection for the grace that the hub gives, and a hub that was started again.
func External(client parley.Client, agent parley.Agent, o *Options) *Executor {
	return newExecutor("external", client, agent, o)
}

// newExecutor makes either: they differ in the client alone, and in what the log of the process calls them.
func newExecutor(place string, client parley.Client, agent parley.Agent, o *Options) *Executor {
	e := &Executor{client: client, agent: agent, opts: o.withDefaults(client)}
	e.opts.Logger = e.opts.Logger.With("executor", e.opts.ExecutorID, "place", place)
	return e
}

// ID is the executorId, the same for each Run.
func (e *Executor) ID() string { return e.opts.ExecutorID }

// Run is the function Run.
func (e *Executor) Run(ctx context.Context) error { return newRunner(e).run(ctx) }

// Run lets agent take turns through client until ctx ends; then it drains, and gives nil if every turn was finished or given back. It ends
// earlier only by an error that no retry mends: ErrUnauthenticated; ErrForbidden, when the token lacks the scope claim or may not speak as one of
// Options.Agents; ErrValidationFailed for options that the hub does not take; ErrAlreadyExists when another Run uses the client or the
// executor id; ErrUnavailable when the client is closed or the hub in its process has ended.
func Run(ctx context.Context, client parley.Client, agent parley.Agent, o *Options) error {
	return newExecutor("client", client, agent, o).Run(ctx)
}
