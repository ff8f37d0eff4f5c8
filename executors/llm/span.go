package llm

import (
	"context"
	"errors"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/spannames"
)

// startSpan starts the span of a run, which covers all attempts and pauses.
func (x *run) startSpan(ctx context.Context) (context.Context, parley.Span) {
	output := "text"
	if x.p.schema != nil {
		output = "json"
	}
	all := []parley.Attribute{
		{Key: spannames.AttrGenAIOperationName, Value: spannames.OperationChat},
		{Key: spannames.AttrGenAIProviderName, Value: x.runtime.Name()},
		{Key: spannames.AttrGenAIRequestModel, Value: x.req.Model},
		{Key: spannames.AttrGenAIOutputType, Value: output},
		{Key: spannames.AttrGenAIRequestStream, Value: x.stream != nil},
	}
	if x.req.Temperature != nil {
		all = append(all, parley.Attribute{Key: spannames.AttrGenAIRequestTemperature, Value: *x.req.Temperature})
	}
	if x.req.TopP != nil {
		all = append(all, parley.Attribute{Key: spannames.AttrGenAIRequestTopP, Value: *x.req.TopP})
	}
	if x.req.Seed != nil {
		all = append(all, parley.Attribute{Key: spannames.AttrGenAIRequestSeed, Value: *x.req.Seed})
	}
	all = append(all, x.p.options.Attributes...)
	return parley.StartSpan(
		ctx, parley.SpanStart{Name: spannames.SpanChat + x.req.Model, Kind: parley.SpanClient, Attributes: all})
}

// setSpanResult sets the outcome of the run on its span. The result may be nil.
func (x *run) setSpanResult(ctx context.Context, span parley.Span, r *Result, err error) {
	if x.req.MaxTokens > 0 { // the budget may have lowered it
		span.Set(parley.Attribute{Key: spannames.AttrGenAIRequestMaxTokens, Value: x.req.MaxTokens})
	}
	span.Set(parley.Attribute{Key: spannames.AttrModelTries, Value: x.timings.Retries + 1})
	if x.timings.FirstToken > 0 {
		span.Set(parley.Attribute{Key: spannames.AttrGenAIResponseTimeToFirstChunk, Value: x.timings.FirstToken.Seconds()})
	}
	if r != nil {
		span.Set(r.attributes()...)
	}
	if err != nil {
		span.Fail(outcome(r, err))
	}
	var failed *ProviderError
	if errors.As(err, &failed) {
		span.Set(
			parley.Attribute{Key: spannames.AttrModelErrorCode, Value: failed.Code},
			parley.Attribute{Key: spannames.AttrModelErrorDetail, Value: failed.Detail()},
		)
	}
	if parley.TellsContent(ctx) {
		span.Set(contentAttributes(x.req, r)...)
	}
}

// attributes returns the span attributes of a result.
func (r *Result) attributes() []parley.Attribute {
	all := []parley.Attribute{
		{Key: spannames.AttrGenAIUsageInputTokens, Value: r.Usage.PromptTokens},
		{Key: spannames.AttrGenAIUsageOutputTokens, Value: r.Usage.CompletionTokens},
	}
	if r.Finish != "" { // not of a failed run
		all = append(all, parley.Attribute{Key: spannames.AttrGenAIResponseModel, Value: r.Model},
			parley.Attribute{Key: spannames.AttrGenAIResponseFinishReasons, Value: []string{string(r.Finish)}})
	}
	if id := r.ProviderMetadata[MetadataResponseID]; id != "" {
		all = append(all, parley.Attribute{Key: spannames.AttrGenAIResponseID, Value: id})
	}
	for _, n := range []struct {
		key    string
		tokens int64
	}{
		{spannames.AttrGenAIUsageCacheReadInputTokens, r.Usage.CacheReadTokens},
		{spannames.AttrGenAIUsageCacheCreationInputTokens, r.Usage.CacheWriteTokens},
		{spannames.AttrGenAIUsageReasoningOutputTokens, r.Usage.ReasoningTokens},
	} {
		if n.tokens > 0 {
			all = append(all, parley.Attribute{Key: n.key, Value: n.tokens})
		}
	}
	return all
}
