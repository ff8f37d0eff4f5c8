package a2a

import (
	"context"
	"fmt"
	"iter"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// operation is an operation of the protocol, independent of bindings and versions.
type operation int

const (
	opSend operation = iota + 1
	opStream
	opGet
	opList
	opCancel
	opSubscribe
	opPushCreate
	opPushGet
	opPushList
	opPushDelete
	opCard
)

// streams reports whether the response is a stream.
func (o operation) streams() bool { return o == opStream || o == opSubscribe }

// call runs an operation with one response. The type of req selects it: see newRequest.
func (x *httpCall) call(ctx context.Context, c *caller, req any) (any, error) {
	switch q := req.(type) {
	case *a2a.SendMessageRequest:
		return x.methods.send(ctx, c, q)
	case *a2a.GetTaskRequest:
		return x.methods.get(ctx, c, q)
	case *a2a.ListTasksRequest:
		return x.methods.list(ctx, c, q)
	case *a2a.CancelTaskRequest:
		return x.methods.cancel(ctx, c, q)
	case *a2a.PushConfig:
		return x.methods.createPush(ctx, c, q)
	case *a2a.GetTaskPushConfigRequest:
		return x.methods.getPush(ctx, c, q)
	case *a2a.ListTaskPushConfigRequest:
		return x.methods.listPush(ctx, c, q)
	case *a2a.DeleteTaskPushConfigRequest:
		return nil, x.methods.deletePush(ctx, c, q)
	case *a2a.GetExtendedAgentCardRequest:
		return x.server.extendedCard(ctx, c, x.server.baseURL(x.r))
	}
	return nil, fmt.Errorf("no operation has a %T", req)
}

// stream runs an operation with a stream of responses.
func (f *httpServer) stream(ctx context.Context, c *caller, req any, cursor string) iter.Seq2[update, error] {
	switch q := req.(type) {
	case *a2a.SendMessageRequest:
		return f.methods.stream(ctx, c, q)
	case *a2a.SubscribeToTaskRequest:
		return f.methods.subscribe(ctx, c, q, cursor)
	}
	return func(yield func(update, error) bool) { yield(update{}, fmt.Errorf("no stream has a %T", req)) }
}

// newRequest returns an empty request of an operation, of version 1.0.
func newRequest(o operation) any {
	switch o {
	case opSend, opStream:
		return new(a2a.SendMessageRequest)
	case opGet:
		return new(a2a.GetTaskRequest)
	case opList:
		return new(a2a.ListTasksRequest)
	case opCancel:
		return new(a2a.CancelTaskRequest)
	case opSubscribe:
		return new(a2a.SubscribeToTaskRequest)
	case opPushCreate:
		return new(a2a.PushConfig)
	case opPushGet:
		return new(a2a.GetTaskPushConfigRequest)
	case opPushList:
		return new(a2a.ListTaskPushConfigRequest)
	case opPushDelete:
		return new(a2a.DeleteTaskPushConfigRequest)
	}
	return new(a2a.GetExtendedAgentCardRequest)
}

// checkRequired refuses requests without required members, so that methods never see a nil.
func checkRequired(req any) error {
	switch q := req.(type) {
	case *a2a.SendMessageRequest:
		return checkMessage(q)
	case *a2a.GetTaskRequest:
		return first(required("id", string(q.ID)), notNegative("historyLength", q.HistoryLength))
	case *a2a.ListTasksRequest:
		return notNegative("historyLength", q.HistoryLength)
	case *a2a.CancelTaskRequest:
		return required("id", string(q.ID))
	case *a2a.SubscribeToTaskRequest:
		return required("id", string(q.ID))
	case *a2a.PushConfig:
		return first(required("taskId", string(q.TaskID)), required("url", q.URL))
	case *a2a.GetTaskPushConfigRequest:
		return required("taskId", string(q.TaskID))
	case *a2a.ListTaskPushConfigRequest:
		return required("taskId", string(q.TaskID))
	case *a2a.DeleteTaskPushConfigRequest:
		return first(required("taskId", string(q.TaskID)), required("id", q.ID))
	}
	return nil
}

func checkMessage(q *a2a.SendMessageRequest) error {
	if q.Message == nil {
		return invalid("message is missing")
	}
	for i, p := range q.Message.Parts {
		if p == nil || p.Content == nil {
			return invalid("message.parts[%d] has no text, raw, url or data", i)
		}
	}
	if q.Config == nil {
		return nil
	}
	return notNegative("configuration.historyLength", q.Config.HistoryLength)
}

// invalid returns an error of the parameters of a request.
func invalid(format string, args ...any) error {
	return a2a.NewError(a2a.ErrInvalidParams, fmt.Sprintf(format, args...))
}

func required(name, value string) error {
	if value == "" {
		return invalid("%s is missing", name)
	}
	return nil
}

func notNegative(name string, n *int) error {
	if n != nil && *n < 0 {
		return invalid("invalid %s %d (expected: at least 0)", name, *n)
	}
	return nil
}

// first returns the first error that is not nil.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
