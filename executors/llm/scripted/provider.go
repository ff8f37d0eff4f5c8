package scripted

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/parleyhub/parley/executors/llm"
)

// Name is the default name of the runtime.
const Name = "scripted"

// The errors of a call in addition to those of the script. Each is wrapped in a *llm.ProviderError
// that is not retryable.
var (
	// ErrNoScript is a model without a script.
	ErrNoScript = errors.New("no_script")
	// ErrNoTurn is a request without a matching turn.
	ErrNoTurn = errors.New("no_turn")
	// ErrNoValue is a reference without a value in this request.
	ErrNoValue = errors.New("no_value")
)

// Options are the options of New.
type Options struct {
	// Dir is the directory of the scripts. NAME.yaml, NAME.yml or NAME.json is the model
	// scripted:NAME. If FS is not nil, its root is read instead.
	Dir string
	FS  fs.FS
	// Name is the name of the runtime; the default is scripted.
	Name string
}

// Provider answers from scripts. It is safe for concurrent use.
type Provider struct {
	name    string
	scripts map[string]*script

	mu     sync.Mutex // guards the field below
	failed map[failedKey]bool
}

// failedKey identifies an error that was returned for a request.
type failedKey struct {
	request [sha256.Size]byte
	turn    int
}

// maxFailed limits the remembered errors. Beyond it, all are forgotten.
const maxFailed = 10_000

var _ llm.Provider = (*Provider)(nil)

// New loads the scripts once. Its error has all faults, each with file, line and column.
func New(o *Options) (*Provider, error) {
	dir, shown := o.FS, ""
	if dir == nil {
		dir, shown = os.DirFS(o.Dir), o.Dir
	}
	scripts, err := load(dir, shown)
	if err != nil {
		return nil, err
	}
	p := &Provider{name: o.Name, scripts: scripts, failed: map[failedKey]bool{}}
	if p.name == "" {
		p.name = Name
	}
	return p, nil
}

// Name returns the name of the runtime.
func (p *Provider) Name() string { return p.name }

// Models returns the sorted names of the scripts.
func (p *Provider) Models() []string { return slices.Sorted(maps.Keys(p.scripts)) }

// Has returns ErrNoScript if there is no script for a model.
func (p *Provider) Has(model string) error {
	if p.scripts[model] == nil {
		return fmt.Errorf("%w: unknown script %s; available: %s", ErrNoScript, model, orNone(p.Models()))
	}
	return nil
}

// Close does nothing, because the provider has no resources.
func (p *Provider) Close() error { return nil }

// Call answers from the script of the model.
func (p *Provider) Call(ctx context.Context, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := p.scripts[req.Model]
	if s == nil {
		return nil, p.refuse(llm.CategoryNotFound, ErrNoScript, "unknown script %s; available: %s", req.Model,
			orNone(p.Models()))
	}
	a := newAsked(req)
	i, key := p.choose(s, a)
	if i < 0 {
		return nil, p.refuse(llm.CategoryInvalid, ErrNoTurn, "no turn of %s matches the request: %s", s.file, a)
	}
	t := s.turns[i]
	if err := t.pace.think(ctx); err != nil {
		p.forget(key) // the caller did not get the answer
		return nil, err
	}
	if t.Error != nil {
		return nil, t.Error.err(p.name)
	}
	r, err := t.answer(a, s, i)
	if err != nil {
		return nil, p.refuse(llm.CategoryInvalid, ErrNoValue, "turns[%d] of %s: %v: %s", i, s.file, err, a)
	}
	data, err := json.Marshal(mark{s.name, i})
	if err != nil {
		return nil, err
	}
	r.Opaque = &llm.Opaque{Provider: p.name, Data: data}
	if err := t.pace.send(ctx, p.name, r, emit); err != nil {
		return nil, err
	}
	return r, nil
}

// choose returns the index of the turn that answers, or -1. It marks an error of a turn with once
// as returned.
func (p *Provider) choose(s *script, a *asked) (int, failedKey) {
	request := sha256.Sum256(bare(a.req))
	for i, t := range s.turns {
		key := failedKey{request, i}
		if !t.When.holds(a) || t.Unless != nil && t.Unless.holds(a) {
			continue
		}
		if !t.Once || !t.isUsed(a, s, p.name, i) && p.take(key, t.fails()) {
			return i, key
		}
	}
	return -1, failedKey{}
}

// bare returns a request without the members that differ between equal requests.
func bare(req *llm.Request) []byte {
	r := *req
	r.IdempotencyKey, r.TraceID, r.Metadata = "", "", nil
	r.MaxTokens = 0 // it depends on the rest of a budget
	raw, err := json.Marshal(&r)
	if err != nil { // an invalid schema, which scripts ignore
		return fmt.Appendf(nil, "%+v", r.Messages)
	}
	return raw
}

// take reports whether a turn may answer. It remembers errors, and returns false for a repeated
// one.
func (p *Provider) take(key failedKey, fails bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.failed[key] {
		return false
	}
	if !fails {
		return true
	}
	if len(p.failed) >= maxFailed {
		clear(p.failed)
	}
	p.failed[key] = true
	return true
}

func (p *Provider) forget(key failedKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.failed, key)
}

// fails reports whether a turn ends with an error, which leaves no message.
func (t *turn) fails() bool { return t.Error != nil || t.HangAfter != nil || t.BreakAfter != nil }

func (p *Provider) refuse(c llm.Category, err error, format string, args ...any) *llm.ProviderError {
	return &llm.ProviderError{Provider: p.name, Category: c, Code: err.Error(), Message: fmt.Sprintf(format, args...),
		Err: err}
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}
