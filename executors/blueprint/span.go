package blueprint

import (
	"cmp"
	"context"
	"path/filepath"

	"github.com/parleyhub/parley"
)

// startSpan begins the span of a command: what it does at the hub is a part of it.
func (s *session) startSpan(ctx context.Context) (context.Context, parley.Span) {
	return parley.StartSpan(
		ctx, parley.SpanStart{Name: parley.SpanProcess + filepath.Base(cmp.Or(s.file.Program, s.file.Argv[0]))})
}

// tellSpan tells how a command has ended; e is nil where it was not let come to an end.
func tellSpan(span parley.Span, e *ending) {
	switch {
	case e == nil:
		span.Fail(parley.ErrorKind(context.Canceled))
		return
	case e.reason != "":
		span.Fail(e.reason)
	}
	if e.code != nil {
		span.Set(parley.Attribute{Key: parley.AttrProcessExitCode, Value: *e.code})
	}
}

// traceparent gives the traceparent for the command: that of its span or, where nobody tells spans and nobody has named one, that of the conversation. The one in the environment of this
// process is never passed on: it is of what has started the runner, and not of what it does.
func (s *session) traceparent(ctx context.Context) string {
	return cmp.Or(parley.TraceparentOf(ctx), s.trace)
}
