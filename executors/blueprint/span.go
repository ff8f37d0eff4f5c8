package blueprint

import (
	"cmp"
	"context"
	"path/filepath"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/spannames"
)

// startSpan starts the span of a command, which includes its calls of the hub.
func (s *session) startSpan(ctx context.Context) (context.Context, parley.Span) {
	return parley.StartSpan(
		ctx, parley.SpanStart{Name: spannames.SpanProcess + filepath.Base(cmp.Or(s.file.Program, s.file.Argv[0]))})
}

// setSpanResult sets the end of a command on its span. e is nil if the command was interrupted.
func setSpanResult(span parley.Span, e *ending) {
	switch {
	case e == nil:
		span.Fail(parley.ErrorKind(context.Canceled))
		return
	case e.reason != "":
		span.Fail(e.reason)
	}
	if e.code != nil {
		span.Set(parley.Attribute{Key: spannames.AttrProcessExitCode, Value: *e.code})
	}
}

// traceparent returns the traceparent for the command: that of its span, or that of the
// conversation. The variable of this process is never passed on, because it belongs to the start of
// the runner.
func (s *session) traceparent(ctx context.Context) string {
	return cmp.Or(parley.TraceparentOf(ctx), s.trace)
}
