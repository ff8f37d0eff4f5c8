package llm

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Runtimes are runtimes by name. Nil has none.
type Runtimes struct{ byName map[string]*Runtime }

// NewRuntimes makes them; of two with one name the later counts.
func NewRuntimes(all ...*Runtime) *Runtimes {
	rs := &Runtimes{byName: map[string]*Runtime{}}
	for _, r := range all {
		rs.byName[r.Name()] = r
	}
	return rs
}

// Names are the names of the runtimes, in order.
func (rs *Runtimes) Names() []string {
	if rs == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(rs.byName))
}

// Find gives the runtime of a model name, such as openai:gpt-4o, and what that calls the model. It fails with ErrUnknownRuntime, and says which there are.
func (rs *Runtimes) Find(name string) (r *Runtime, model string, err error) {
	runtime, model, ok := strings.Cut(name, ":")
	if !ok || runtime == "" || model == "" {
		return nil, "", fmt.Errorf("%w: %q names none: expected a runtime, a colon and a model, such as openai:gpt-4o. %s",
			ErrUnknownRuntime, name, rs.there())
	}
	if rs != nil {
		r = rs.byName[runtime]
	}
	if r == nil {
		return nil, "", fmt.Errorf("%w: %q of the model %q. %s", ErrUnknownRuntime, runtime, name, rs.there())
	}
	return r, model, nil
}

func (rs *Runtimes) there() string {
	names := rs.Names()
	if len(names) == 0 {
		return "There is no runtime: no vendor's key is configured"
	}
	return "There are: " + strings.Join(names, ", ")
}

// Close closes all.
func (rs *Runtimes) Close() error {
	var errs []error
	for _, name := range rs.Names() {
		if err := rs.byName[name].Close(); err != nil {
			errs = append(errs, fmt.Errorf("close runtime %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}
