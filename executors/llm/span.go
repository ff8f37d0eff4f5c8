package llm

import (
	"context"

	"github.com/parleyhub/parley"
)

// startSpan starts the span of a run, which covers all attempts and pauses.
func (x *run) startSpan(ctx context.Context) (context.Context, parley.Span) {
	output := "text"
	if x.p.schema != nil {
		output = "json"
	}
	all := []parley.Attribute{
		{Key: parley.AttrGenAIOperationName, Value: parley.OperationChat},
		{Key: parley.AttrGenAIProviderName, Value: x.runtime.Name()},
		{Key: parley.AttrGenAIRequestModel, Value: x.req.Model},
		{Key: parley.AttrGenAIOutputType, Value: output},
		{Key: parley.AttrGenAIRequestStream, Value: x.stream != nil},
	}
	if x.req.Temperature != nil {
		all = append(all, parley.Attribute{Key: parley.AttrGenAIRequestTemperature, Value: *x.req.Temperature})
	}
	if x.req.TopP != nil {
		all = append(all, parley.Attribute{Key: parley.AttrGenAIRequestTopP, Value: *x.req.TopP})
	}
	if x.req.Seed != nil {
		all = append(all, parley.Attribute{Key: parley.AttrGenAIRequestSeed, Value: *x.req.Seed})
	}
	all = append(all, x.p.options.Attributes...)
	return parley.StartSpan(
		ctx, parley.SpanStart{Name: parley.SpanChat + x.req.Model, Kind: parley.SpanClient, Attributes: all})
}

// setSpanResult sets the outcome of the run on its span. The result may be nil.
func (x *run) setSpanResult(ctx context.Context, span parley.Span, r *Result, err error) {
	if x.req.MaxTokens > 0 { // the budget may have lowered it
		span.Set(parley.Attribute{Key: parley.AttrGenAIRequestMaxTokens, Value: x.req.MaxTokens})
	}
	span.Set(parley.Attribute{Key: parley.AttrModelTries, Value: x.timings.Retries + 1})
	if x.timings.FirstToken > 0 {
		span.Set(parley.Attribute{Key: parley.AttrGenAIResponseTimeToFirstChunk, Value: x.timings.FirstToken.Seconds()})
	}
	if r != nil {
		span.Set(r.attributes()...)
	}
	if err != nil {
		span.Fail(outcome(r, err))
	}
	if parley.TellsContent(ctx) {
		span.Set(contentAttributes(x.req, r)...)
	}
}

// attributes returns the span attributes of a result.
func (r *Result) attributes() []parley.Attribute {
	all := []parley.Attribute{
		{Key: parley.AttrGenAIResponseModel, Value: r.Model},
		{Key: parley.AttrGenAIResponseFinishReasons, Value: []string{string(r.Finish)}},
		{Key: parley.AttrGenAIUsageInputTokens, Value: r.Usage.PromptTokens},
		{Key: parley.AttrGenAIUsageOutputTokens, Value: r.Usage.CompletionTokens},
	}
	if id := r.ProviderMetadata["response_id"]; id != "" {
		all = append(all, parley.Attribute{Key: parley.AttrGenAIResponseID, Value: id})
	}
	for _, n := range []struct {
		key    string
		tokens int64
	}{
		{parley.AttrGenAIUsageCacheReadInputTokens, r.Usage.CacheReadTokens},
		{parley.AttrGenAIUsageCacheCreationInputTokens, r.Usage.CacheWriteTokens},
		{parley.AttrGenAIUsageReasoningOutputTokens, r.Usage.ReasoningTokens},
	} {
		if n.tokens > 0 {
			all = append(all, parley.Attribute{Key: n.key, Value: n.tokens})
		}
	}
	return all
}
