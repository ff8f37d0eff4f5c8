package tool

import (
	"context"
	"unicode/utf8"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/record"
	"github.com/parleyhub/parley/internal/spannames"
)

// maxContent bounds what a span tells of the arguments of a tool and of what it gave back, in bytes each.
const maxContent = 64 << 10

// startSpan begins the span of a call: from before it is approved of until what came of it is in the log.
func (c *call) startSpan(ctx context.Context) (context.Context, parley.Span) {
	return parley.StartSpan(ctx, parley.SpanStart{
		Name: spannames.SpanExecuteTool + c.Name,
		Attributes: []parley.Attribute{
			{Key: spannames.AttrGenAIOperationName, Value: spannames.OperationExecuteTool},
			{Key: spannames.AttrGenAIToolName, Value: c.Name},
			{Key: spannames.AttrGenAIToolType, Value: "function"},
			{Key: spannames.AttrGenAIToolCallID, Value: c.ID},
		},
	})
}

// tellSpan tells how a call has ended.
func (c *call) tellSpan(ctx context.Context, span parley.Span, t *record.ToolEnded, err error) {
	switch {
	case err != nil && ctx.Err() != nil:
		span.Fail(parley.ErrorKind(context.Cause(ctx)))
	case err != nil:
		span.Fail(parley.ErrorKind(err))
	case c.entry == nil:
		span.Fail(llm.ErrUnknownTool.Error())
	case t.Metadata.Status == record.ToolError:
		span.Fail(llm.ErrTool.Error())
	case !t.Success:
		span.Fail(string(t.Metadata.Status))
	}
	if !parley.TellsContent(ctx) {
		return
	}
	span.Set(parley.Attribute{Key: spannames.AttrGenAIToolCallArguments, Value: content(c.Arguments)})
	if t != nil {
		span.Set(parley.Attribute{Key: spannames.AttrGenAIToolCallResult, Value: content(t.Text)})
	}
}

// content gives the beginning of a text, in whole code points.
func content(s string) string {
	if len(s) <= maxContent {
		return s
	}
	most := maxContent
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}
