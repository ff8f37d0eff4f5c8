package command

import (
	"context"
	"path/filepath"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/process"
	"github.com/parleyhub/parley/internal/spannames"
)

// traceparent is the variable that names the span of the program, for the spans of its own.
const traceparent = "TRACEPARENT"

// startSpan begins the span of a program: what it says, and what it does at the hub, is a part of it.
func startSpan(ctx context.Context, argv []string) (context.Context, parley.Span) {
	name := ""
	if len(argv) > 0 {
		name = filepath.Base(argv[0])
	}
	return parley.StartSpan(ctx, parley.SpanStart{Name: spannames.SpanProcess + name})
}

// tellSpan tells how a program has ended.
func tellSpan(span parley.Span, e process.Exit, err error) {
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
