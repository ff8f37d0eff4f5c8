package llm

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Runtimes are runtimes by name. A nil Runtimes is empty.
type Runtimes struct{ byName map[string]*Runtime }

// NewRuntimes returns a Runtimes. If two runtimes have the same name, the later one is used.
func NewRuntimes(all ...*Runtime) *Runtimes {
	rs := &Runtimes{byName: map[string]*Runtime{}}
	for _, r := range all {
		rs.byName[r.Name()] = r
	}
	return rs
}

// Names returns the sorted names of the runtimes.
func (rs *Runtimes) Names() []string {
	if rs == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(rs.byName))
}

// Find returns the runtime of a model name such as openai:gpt-4o, and the vendor's name of the
// model. It returns ErrUnknownRuntime with the known names if there is no such runtime.
func (rs *Runtimes) Find(name string) (r *Runtime, model string, err error) {
	runtime, model, ok := strings.Cut(name, ":")
	if !ok || runtime == "" || model == "" {
		return nil, "", fmt.Errorf("%w: invalid model %q: expected a runtime, a colon and a model, such as openai:gpt-4o. %s",
			ErrUnknownRuntime, name, rs.listNames())
	}
	if rs != nil {
		r = rs.byName[runtime]
	}
	if r == nil {
		return nil, "", fmt.Errorf("%w %q in the model %q. %s", ErrUnknownRuntime, runtime, name, rs.listNames())
	}
	return r, model, nil
}

func (rs *Runtimes) listNames() string {
	names := rs.Names()
	if len(names) == 0 {
		return "No runtime is available, because no API key of a vendor is configured"
	}
	return "Available runtimes: " + strings.Join(names, ", ")
}

// Close closes all runtimes.
func (rs *Runtimes) Close() error {
	var errs []error
	for _, name := range rs.Names() {
		if err := rs.byName[name].Close(); err != nil {
			errs = append(errs, fmt.Errorf("close runtime %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}
