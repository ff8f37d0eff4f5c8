package command

import (
	"context"
	"path/filepath"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/process"
	"github.com/parleyhub/parley/internal/spannames"
)

// traceparent is the variable with the span of the program, for spans that the program creates.
const traceparent = "TRACEPARENT"

// startSpan starts the span of a program, which includes its posts and its calls of the hub.
func startSpan(ctx context.Context, argv []string) (context.Context, parley.Span) {
	name := ""
	if len(argv) > 0 {
		name = filepath.Base(argv[0])
	}
	return parley.StartSpan(ctx, parley.SpanStart{Name: spannames.SpanProcess + name})
}

// setSpanResult sets the exit of a program on its span.
func setSpanResult(span parley.Span, e process.Exit, err error) {
	if e.Code >= 0 {
		span.Set(parley.Attribute{Key: spannames.AttrProcessExitCode, Value: e.Code})
	}
	switch {
	case e.Signal != 0:
		span.Fail("signal")
	case e.Code != 0:
		span.Fail("exit_code")
	case err != nil:
		span.Fail(parley.ErrorKind(err))
	}
}
