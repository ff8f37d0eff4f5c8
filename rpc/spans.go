package rpc

import (
	"cmp"
	"context"
	"net/http"
	"strconv"

	"github.com/parleyhub/parley"
)

// traceparentHeader is the header of W3C Trace Context. One that is not valid is as none: what a proxy has added shall refuse nothing.
const traceparentHeader = "Traceparent"

func traceparentOf(r *http.Request) string {
	values := r.Header.Values(traceparentHeader)
	if len(values) != 1 || !parley.ValidTraceparent(values[0]) {
		return ""
	}
	return values[0]
}

// traced gives the context in which a guest serves a request. Which span that is a part of the guest finds out: its protocol may say it too.
func (s *Server) traced(ctx context.Context) context.Context {
	if s.opts.Tracer == nil {
		return ctx
	}
	return parley.WithTracer(ctx, s.opts.Tracer)
}

// traceOf gives the traceparent among the params of a call, nil where they carry none, and the conversation that they name, by what it is to the span.
func traceOf(params any) (traceparent *string, conversation parley.Attribute) {
	in := func(id string) parley.Attribute {
		return parley.Attribute{Key: parley.AttrGenAIConversationID, Value: id}
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
		return &q.Traceparent, parley.Attribute{Key: parley.AttrParentConversationID, Value: q.ConversationID}
	case *parley.StartSessionParams:
		return &q.Traceparent, parley.Attribute{Key: parley.AttrParentConversationID, Value: q.ParentConversationID}
	}
	return nil, parley.Attribute{}
}

// begin begins the span of a call whose params carry a traceparent, and puts that of the span into them: so it stands in the event. Where nobody is told of spans it is that of the caller. What
// is no traceparent stays, for the hub to refuse.
func (c *call) begin(params any) {
	own, conversation := traceOf(params)
	if own == nil {
		return
	}
	*own = cmp.Or(*own, c.traceparent)
	t := c.server.opts.Tracer
	if t == nil || *own != "" && !parley.ValidTraceparent(*own) {
		return
	}
	attributes := []parley.Attribute{
		{Key: parley.AttrRPCSystemName, Value: "jsonrpc"},
		{Key: parley.AttrRPCMethod, Value: c.handler.name},
		{Key: parley.AttrDoor, Value: c.door()},
		{Key: parley.AttrCallerID, Value: c.principal.AgentID},
	}
	if id, _ := conversation.Value.(string); parley.ValidConversationID(id) {
		attributes = append(attributes, conversation)
	}
	_, c.span = parley.StartSpan(parley.WithTracer(context.Background(), t), parley.SpanStart{
		Name: parley.SpanCall + c.handler.name, Kind: parley.SpanServer, Parent: *own, Attributes: attributes,
	})
	*own = c.span.Traceparent()
}

// door names the door of a call.
func (c *call) door() string {
	if c.socket != nil {
		return "ws"
	}
	return "http"
}

// wrote tells the span of a call what the call has written.
func (c *call) wrote(result any) {
	if c.span == nil {
		return
	}
	switch r := result.(type) {
	case parley.SendResult:
		c.span.Set(parley.Attribute{Key: parley.AttrEventSeq, Value: r.Seq}, parley.Attribute{Key: parley.AttrDuplicate, Value: r.Duplicate})
	case parley.SeqResult:
		c.span.Set(parley.Attribute{Key: parley.AttrEventSeq, Value: r.Seq}, parley.Attribute{Key: parley.AttrDuplicate, Value: r.Duplicate})
	case *parley.Session:
		c.span.Set(parley.Attribute{Key: parley.AttrChildConversationID, Value: r.SessionID}, parley.Attribute{Key: parley.AttrDuplicate, Value: r.Duplicate})
	case *parley.Snapshot:
		c.span.Set(parley.Attribute{Key: parley.AttrGenAIConversationID, Value: r.ConversationID}, parley.Attribute{Key: parley.AttrDuplicate, Value: r.Duplicate})
	}
}

// failed tells the span of a call that it was refused.
func (c *call) failed(err error) {
	if c.span != nil {
		row := parley.ErrorRowOf(err)
		c.span.Set(parley.Attribute{Key: parley.AttrRPCResponseStatusCode, Value: strconv.Itoa(row.Code)})
		c.span.Fail(row.Reason())
	}
}

// ended ends the span of a call: it is answered, or nobody is there to be answered.
func (c *call) ended() {
	if c.span != nil {
		c.span.End()
	}
}
