package executors

import (
	"cmp"
	"context"

	"github.com/parleyhub/parley"
)

// Executor is an agent with the client for its turns.
type Executor struct {
	client parley.Client
	agent  parley.Agent
	opts   Options
}

// Internal returns the executor of an agent inside the process of the hub, with a client of
// hub.Hub.Client. It may take seats whose executor is internal or any. Its claims end with the
// process: a restarted hub ends them at once without counting an attempt. The default of
// Options.ExecutorID is derived from the client's id, so a second executor needs an explicit id.
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

// External returns the executor of an agent in a separate process, with a client of sdk.Dial. It
// may take seats whose executor is external or any. Its claims survive a lost connection for the
// grace period, and a restart of the hub.
func External(client parley.Client, agent parley.Agent, o *Options) *Executor {
	return newExecutor("external", client, agent, o)
}

// newExecutor returns an executor. The kinds differ only in the client and in the place in the log
// of the process.
func newExecutor(place string, client parley.Client, agent parley.Agent, o *Options) *Executor {
	e := &Executor{client: client, agent: agent, opts: o.withDefaults(client)}
	e.opts.Logger = e.opts.Logger.With("executor", e.opts.ExecutorID, "place", place)
	return e
}

// ID returns the executor id, which is the same for each Run.
func (e *Executor) ID() string { return e.opts.ExecutorID }

// Run calls the function Run.
func (e *Executor) Run(ctx context.Context) error { return newRunner(e).run(ctx) }

// Run lets an agent take turns until ctx ends. It then drains, and returns nil if every turn was
// finished or released. It returns earlier only for an error that no retry can fix:
//
//   - ErrUnauthenticated
//   - ErrForbidden, if the token lacks the scope claim or may not act as one of Options.Agents
//   - ErrValidationFailed, for options that the hub refuses
//   - ErrAlreadyExists, if another Run uses the client or the executor id
//   - ErrUnavailable, if the client is closed or the hub in its process ended
func Run(ctx context.Context, client parley.Client, agent parley.Agent, o *Options) error {
	return newExecutor("client", client, agent, o).Run(ctx)
}
