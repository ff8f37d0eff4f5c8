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

// Name is that of the runtime, unless Options say otherwise.
const Name = "scripted"

// What a call may end with besides what a script says. Each is within a *llm.ProviderError that no retry mends.
var (
	// ErrNoScript is a model that there is no file of.
	ErrNoScript = errors.New("no_script")
	// ErrNoTurn is a request that no turn of the script fits.
	ErrNoTurn = errors.New("no_turn")
	// ErrNoValue is a reference of the turn that fits, which stands for nothing in this request.
	ErrNoValue = errors.New("no_value")
)

// Options are for New.
type Options struct {
	// Dir is the directory of the scripts: NAME.yaml, NAME.yml or NAME.json is the model scripted:NAME. FS is read instead where it is not nil, from its root.
	Dir string
	FS  fs.FS
	// Name is that of the runtime; empty, scripted.
	Name string
}

// Provider answers from scripts. It is safe for concurrent use.
type Provider struct {
	name    string
	scripts map[string]*script

	mu     sync.Mutex // guards the field below
	failed map[failedKey]bool
}

// failedKey is an error that was given to a request.
type failedKey struct {
	request [sha256.Size]byte
	turn    int
}

// maxFailed bounds how many errors are remembered; then all are forgotten.
const maxFailed = 10_000

var _ llm.Provider = (*Provider)(nil)

// New loads the scripts. It fails with all that is wrong with them, each fault with its file, line and column. They are not read again.
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

// Name is that of the runtime.
func (p *Provider) Name() string { return p.name }

// Models are the names of the scripts, in their order.
func (p *Provider) Models() []string { return slices.Sorted(maps.Keys(p.scripts)) }

// Has fails with ErrNoScript where there is no script of a model.
func (p *Provider) Has(model string) error {
	if p.scripts[model] == nil {
		return fmt.Errorf("%w: there is no script %s: there are %s", ErrNoScript, model, orNone(p.Models()))
	}
	return nil
}

// Close does nothing: nothing is under way but calls.
func (p *Provider) Close() error { return nil }

// Call answers as the script of the model says.
func (p *Provider) Call(ctx context.Context, req *llm.Request, emit func(llm.Chunk) error) (*llm.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := p.scripts[req.Model]
	if s == nil {
		return nil, p.refuse(llm.CategoryNotFound, ErrNoScript, "there is no script %s: there are %s", req.Model,
			orNone(p.Models()))
	}
	a := newAsked(req)
	i, key := p.choose(s, a)
	if i < 0 {
		return nil, p.refuse(llm.CategoryInvalid, ErrNoTurn, "no turn of %s fits what was asked: %s", s.file, a)
	}
	t := s.turns[i]
	if err := t.pace.think(ctx); err != nil {
		p.forget(key) // it was not given
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
	if err := t.pace.tell(ctx, p.name, r, emit); err != nil {
		return nil, err
	}
	return r, nil
}

// choose gives the place of the turn that answers; -1 when none does. One that is once and fails is used up with it.
func (p *Provider) choose(s *script, a *asked) (int, failedKey) {
	request := sha256.Sum256(bare(a.req))
	for i, t := range s.turns {
		key := failedKey{request, i}
		if !t.When.holds(a) || t.Unless != nil && t.Unless.holds(a) {
			continue
		}
		if !t.Once || !t.given(a, s, p.name, i) && p.take(key, t.fails()) {
			return i, key
		}
	}
	return -1, failedKey{}
}

// bare is a request without what differs between two that ask the same.
func bare(req *llm.Request) []byte {
	r := *req
	r.IdempotencyKey, r.TraceID, r.Metadata = "", "", nil
	r.MaxTokens = 0 // it depends on what is left of a budget
	raw, err := json.Marshal(&r)
	if err != nil { // a schema that is no JSON: no script looks at it
		return fmt.Appendf(nil, "%+v", r.Messages)
	}
	return raw
}

// take reports whether an error was not given yet, or is none; from then on it is.
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
