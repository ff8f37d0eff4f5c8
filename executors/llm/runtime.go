package llm

import "context"

// Runtime runs the models of one Provider: the adapter of seed 003. It is safe for concurrent use.
type Runtime struct {
	provider Provider
	models   Models
}

// NewRuntime makes a Runtime. Without models every model takes everything.
func NewRuntime(p Provider, models Models) *Runtime { return &Runtime{provider: p, models: models} }

// Name is that of the provider.
func (r *Runtime) Name() string { return r.provider.Name() }

// Capabilities tells what is known of a model.
func (r *Runtime) Capabilities(model string) Capabilities { return r.models.Find(model) }

// SupportsSchema reports whether a model can be held to a schema.
func (r *Runtime) SupportsSchema(model string) bool { return !r.Capabilities(model).NoSchema }

// SupportsTools reports whether a model takes tools.
func (r *Runtime) SupportsTools(model string) bool { return !r.Capabilities(model).NoTools }

// Run makes one exchange and gives it whole. Calls that may succeed later are made again, as Options say.
//
// It fails with *ProviderError, *SchemaError, *BudgetError or ctx's error. With *SchemaError, and with *BudgetError once the model was asked, the Result is not nil: it holds what came, its
// usage, and the message to go on from.
func (r *Runtime) Run(ctx context.Context, p *Prepared, in *Input) (*Result, error) {
	return r.run(ctx, p, in, nil)
}

// RunStream is Run that tells sink of what comes, and gives the same. The last event is EventComplete or EventError, unless the sink has failed or there was nothing to ask.
func (r *Runtime) RunStream(ctx context.Context, p *Prepared, in *Input, sink Sink) (*Result, error) {
	if sink == nil {
		sink = func(Event) error { return nil }
	}
	return r.run(ctx, p, in, sink)
}

// Close closes the provider.
func (r *Runtime) Close() error { return r.provider.Close() }
