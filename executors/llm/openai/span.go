package openai

import (
	"context"
	"errors"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/internal/spannames"
)

// startSpan starts the span of a call.
func (e *Embedder) startSpan(ctx context.Context) (context.Context, parley.Span) {
	return parley.StartSpan(ctx, parley.SpanStart{
		Name: spannames.SpanEmbeddings + e.model, Kind: parley.SpanClient,
		Attributes: []parley.Attribute{
			{Key: spannames.AttrGenAIOperationName, Value: spannames.OperationEmbeddings},
			{Key: spannames.AttrGenAIProviderName, Value: e.provider.Name()},
			{Key: spannames.AttrGenAIRequestModel, Value: e.model},
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
