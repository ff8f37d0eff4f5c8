package tool

import (
	"context"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/record"
	"github.com/parleyhub/parley/internal/spannames"
)

// maxContent limits the arguments and the result of a tool in a span, in bytes each.
const maxContent = 64 << 10

// startSpan starts the span of a call, which includes the approval and the recording of the result.
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

// setSpanResult sets the outcome of a call on its span.
func (c *call) setSpanResult(ctx context.Context, span parley.Span, t *record.ToolEnded, err error) {
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

// content returns a text for a span.
func content(s string) string { return truncate(s, maxContent) }
