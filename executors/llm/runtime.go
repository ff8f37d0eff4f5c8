package llm

import "context"

// Runtime runs the models of one Provider. It is the adapter of seed 003, and is safe for
// concurrent use.
type Runtime struct {
	provider Provider
	models   Models
}

// NewRuntime returns a Runtime. If models is empty, every model supports everything.
func NewRuntime(p Provider, models Models) *Runtime { return &Runtime{provider: p, models: models} }

// Name returns the name of the provider.
func (r *Runtime) Name() string { return r.provider.Name() }

// Capabilities returns the capabilities of a model.
func (r *Runtime) Capabilities(model string) Capabilities { return r.models.Find(model) }

// SupportsSchema reports whether a model has a schema parameter.
func (r *Runtime) SupportsSchema(model string) bool { return !r.Capabilities(model).NoSchema }

// SupportsTools reports whether a model supports tools.
func (r *Runtime) SupportsTools(model string) bool { return !r.Capabilities(model).NoTools }

// Run makes one exchange and returns the whole result. It retries as Options define.
//
// Run returns *ProviderError, *SchemaError, *BudgetError or the error of ctx. With *SchemaError,
// and with *BudgetError after a call, the Result has the answer, its usage, and the message to
// continue from. With any other error after a call, the Result has only the model, the usage, the
// cost and the timings.
func (r *Runtime) Run(ctx context.Context, p *Prepared, in *Input) (*Result, error) {
	return r.run(ctx, p, in, nil)
}

// RunStream is Run with a stream of events to sink, and returns the same result. The last event is
// EventComplete or EventError, unless the sink failed or there was no message to send.
func (r *Runtime) RunStream(ctx context.Context, p *Prepared, in *Input, sink Sink) (*Result, error) {
	if sink == nil {
		sink = func(Event) error { return nil }
	}
	return r.run(ctx, p, in, sink)
}

// Close closes the provider.
func (r *Runtime) Close() error { return r.provider.Close() }
