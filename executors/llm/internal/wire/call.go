package wire

import (
	"bufio"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/parleyhub/parley/executors/llm"
)

// Lifetime is the lifetime of a provider. It is safe for concurrent use.
type Lifetime struct {
	faults Faults
	ctx    context.Context
	end    context.CancelFunc
}

// NewLifetime starts a lifetime.
func NewLifetime(f Faults) *Lifetime {
	ctx, end := context.WithCancel(context.Background())
	return &Lifetime{faults: f, ctx: ctx, end: end}
}

// End cancels all calls.
func (l *Lifetime) End() { l.end() }

// Call makes one call that is canceled with ctx and at the end of the lifetime, and when the server
// is silent for the time idle, unless that is 0. It returns the error of ctx if ctx is done, an
// error of emit unchanged, and otherwise a *llm.ProviderError. If emit is nil, call gets a nil emit
// too.
func (l *Lifetime) Call(ctx context.Context, idle time.Duration, emit func(llm.Chunk) error,
	call func(context.Context, func(llm.Chunk) error) (*llm.Response, error)) (*llm.Response, error) {
	run, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.ctx, func() { cancel(nil) })()
	if idle > 0 {
		run = context.WithValue(run, silenceKey{}, newSilence(idle, func() { cancel(errSilent) }))
	}
	var refused error
	var guarded func(llm.Chunk) error
	if emit != nil {
		guarded = func(c llm.Chunk) error {
			refused = emit(c)
			return refused
		}
	}
	res, err := call(run, guarded)
	var provider *llm.ProviderError
	switch {
	case err == nil:
		return res, nil
	case refused != nil:
		return nil, refused
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case context.Cause(run) == errSilent:
		return nil, l.faults.silent(idle, err)
	case l.ctx.Err() != nil:
		return nil, l.faults.Closed()
	case errors.As(err, &provider):
		return nil, provider
	}
	return nil, l.faults.Broken(nil, err)
}

// Whole reads the body of an answer.
func (f Faults) Whole(res *http.Response) ([]byte, error) {
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, f.Broken(res, err)
	}
	return raw, nil
}

// Read reads an answer with a success status, and closes it. The body decides whether stream or
// whole reads it, because some servers ignore what the request asks for. stream gets an emit that is
// never nil, and whole gets the body.
func (f Faults) Read(res *http.Response, emit func(llm.Chunk) error,
	stream func(emit func(llm.Chunk) error) (*llm.Response, error),
	whole func(raw []byte) (*llm.Response, error)) (*llm.Response, error) {
	defer res.Body.Close()
	if isStream(res) {
		if emit == nil {
			emit = func(llm.Chunk) error { return nil }
		}
		return stream(emit)
	}
	raw, err := f.Whole(res)
	if err != nil {
		return nil, err
	}
	r, err := whole(MarkSurrogates(raw))
	if err != nil || emit == nil {
		return r, err
	}
	return r, emitWhole(r, emit)
}

// isStream reports whether an answer is an event stream. The beginning of the body takes precedence
// over the Content-Type. A body that begins with neither JSON nor an event is left to the
// Content-Type.
func isStream(res *http.Response) bool {
	body := bufio.NewReader(res.Body)
	res.Body = struct {
		io.Reader
		io.Closer
	}{body, res.Body}
	for {
		first, err := body.Peek(1)
		if err != nil || strings.IndexByte(" \t\r\n\xef\xbb\xbf", first[0]) < 0 { // space, or a byte order mark
			break
		}
		_, _ = body.Discard(1) // it is in the buffer
	}
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	first, err := body.Peek(1)
	switch {
	case err != nil:
	case first[0] == '{' || first[0] == '[':
		return false
	case kind == "text/event-stream" || first[0] == ':':
		return true
	}
	for _, field := range []string{"data:", "event:", "id:", "retry:"} {
		if start, err := body.Peek(len(field)); err == nil && string(start) == field {
			return true
		}
	}
	return kind == "text/event-stream"
}
