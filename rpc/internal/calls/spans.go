package calls

import (
	"cmp"
	"context"
	"strconv"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/spannames"
)

// traceOf returns the traceparent in the params of a call, nil if they have none, and the attribute of
// the span for the conversation that they name.
func traceOf(params any) (traceparent *string, conversation parley.Attribute) {
	in := func(id string) parley.Attribute {
		return parley.Attribute{Key: spannames.AttrGenAIConversationID, Value: id}
	}
	switch q := params.(type) {
	case *parley.SendMessageParams:
		return &q.Traceparent, in(q.ConversationID)
	case *parley.SendTraceParams:
		return &q.Traceparent, in(q.ConversationID)
	case *parley.SendNoteParams:
		return &q.Traceparent, in(q.ConversationID)
	case *parley.CreateConversationParams:
		return &q.Traceparent, in(q.ConversationID)
	case *parley.ForkConversationParams:
		return &q.Traceparent, parley.Attribute{Key: spannames.AttrParentConversationID, Value: q.ConversationID}
	case *parley.StartSessionParams:
		return &q.Traceparent, parley.Attribute{Key: spannames.AttrParentConversationID, Value: q.ParentConversationID}
	}
	return nil, parley.Attribute{}
}

// startSpan starts the span of a call whose params have a traceparent, and replaces it by that of the
// span, which the event then has. Without a tracer, it stays that of the caller. The hub refuses an
// invalid one.
func (c *Call) startSpan(params any) {
	own, conversation := traceOf(params)
	if own == nil {
		return
	}
	*own = cmp.Or(*own, c.Traceparent)
	t := c.dispatcher.Tracer
	if t == nil || *own != "" && !parley.ValidTraceparent(*own) {
		return
	}
	attributes := []parley.Attribute{
		{Key: spannames.AttrRPCSystemName, Value: "jsonrpc"},
		{Key: spannames.AttrRPCMethod, Value: c.Handler.Name},
		{Key: spannames.AttrDoor, Value: c.door()},
		{Key: spannames.AttrCallerID, Value: c.Principal.AgentID},
	}
	if id, _ := conversation.Value.(string); parley.ValidConversationID(id) {
		attributes = append(attributes, conversation)
	}
	_, c.span = parley.StartSpan(parley.WithTracer(context.Background(), t), parley.SpanStart{
		Name: spannames.SpanCall + c.Handler.Name, Kind: parley.SpanServer, Parent: *own, Attributes: attributes,
	})
	*own = c.span.Traceparent()
}

// door returns the transport of a call, for its span.
func (c *Call) door() string {
	if c.Socket != nil {
		return "ws"
	}
	return "http"
}

// setSpanResult adds the result of a write to the span of a call.
func (c *Call) setSpanResult(result any) {
	if c.span == nil {
		return
	}
	set := func(key string, value any, duplicate bool) {
		c.span.Set(parley.Attribute{Key: key, Value: value}, parley.Attribute{Key: spannames.AttrDuplicate, Value: duplicate})
	}
	switch r := result.(type) {
	case parley.SendResult:
		set(spannames.AttrEventSeq, r.Seq, r.Duplicate)
	case parley.SeqResult:
		set(spannames.AttrEventSeq, r.Seq, r.Duplicate)
	case *parley.Session:
		set(spannames.AttrChildConversationID, r.SessionID, r.Duplicate)
	case *parley.Snapshot:
		set(spannames.AttrGenAIConversationID, r.ConversationID, r.Duplicate)
	}
}

// failSpan sets the error of the span of a call.
func (c *Call) failSpan(err error) {
	if c.span != nil {
		row := parley.ErrorRowOf(err)
		c.span.Set(parley.Attribute{Key: spannames.AttrRPCResponseStatusCode, Value: strconv.Itoa(row.Code)})
		c.span.Fail(row.Reason())
	}
}

// endSpan ends the span of a call that is answered, or whose peer has left.
func (c *Call) endSpan() {
	if c.span != nil {
		c.span.End()
	}
}
