package openai

import (
	"context"
	"errors"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
)

// startSpan starts the span of a call.
func (e *Embedder) startSpan(ctx context.Context) (context.Context, parley.Span) {
	return parley.StartSpan(ctx, parley.SpanStart{
		Name: parley.SpanEmbeddings + e.model, Kind: parley.SpanClient,
		Attributes: []parley.Attribute{
			{Key: parley.AttrGenAIOperationName, Value: parley.OperationEmbeddings},
			{Key: parley.AttrGenAIProviderName, Value: e.provider.Name()},
			{Key: parley.AttrGenAIRequestModel, Value: e.model},
		},
	})
}

// setSpanResult sets the outcome of a call on its span.
func setSpanResult(span parley.Span, err error) {
	var failed *llm.ProviderError
	switch {
	case errors.As(err, &failed):
		span.Fail(string(failed.Category))
	case err != nil:
		span.Fail(parley.ErrorKind(err))
	}
}
