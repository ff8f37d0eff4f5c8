package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"unicode/utf8"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/rpc/internal/calls"
)

// serveRoute serves a method over plain HTTP. The request becomes params, and the answer is the bare
// result or a problem.
func (a *API) serveRoute(w http.ResponseWriter, r *http.Request, rt *route) {
	a.serveExchange(w, r, a.problem, func(ctx context.Context, e *exchange) (calls.Answer, error) {
		c, err := a.readCall(e, w, r, rt)
		if err != nil {
			return calls.Answer{}, err
		}
		answer := c.Await(ctx)
		if answer.Status == http.StatusOK && creating[rt.method.Name] {
			return rt.withCreated(answer)
		}
		return answer, nil
	})
}

// readCall reads a request over plain HTTP.
func (a *API) readCall(e *exchange, w http.ResponseWriter, r *http.Request, rt *route) (*calls.Call, error) {
	c := rt.newCall(a, r)
	c.Traceparent = Traceparent(r)
	var body []byte
	var err error
	if rt.verb == http.MethodPost {
		c.Principal, body, err = a.readJSON(e, w, r)
	} else {
		c.Principal, err = a.authenticateBodiless(r)
	}
	if err != nil {
		return nil, err
	}
	if c.Params, err = rt.readParams(r, body); err != nil {
		return nil, err
	}
	c.Key, err = rt.readKey(r)
	return c, err
}

// withCreated changes the answer of a method that created something to HTTP 201, with a Location if
// that has a path. Something that existed already stays HTTP 200.
func (rt *route) withCreated(answer calls.Answer) (calls.Answer, error) {
	var r struct {
		Duplicate      bool   `json:"duplicate"`
		ConversationID string `json:"conversationId"`
		SessionID      string `json:"sessionId"`
		ApprovalID     string `json:"approvalId"`
	}
	if err := json.Unmarshal(answer.Body, &r); err != nil {
		return calls.Answer{}, fmt.Errorf("read the result of %s: %w", rt.method.Name, err)
	}
	if r.Duplicate {
		return answer, nil
	}
	answer.Status = http.StatusCreated
	switch rt.method.Name {
	case methods.CreateConversation, methods.ForkConversation:
		answer.Header = http.Header{"Location": {"/conversations/" + r.ConversationID}}
	case methods.StartSession:
		answer.Header = http.Header{"Location": {"/sessions/" + r.SessionID}}
	case methods.RequestApproval:
		answer.Header = http.Header{"Location": {"/approvals/" + r.ApprovalID}}
	}
	return answer, nil
}

const keyHeader = calls.KeyHeader

// readKey returns the header Idempotency-Key, which sets the param clientRequestId; "" if it is missing.
func (rt *route) readKey(r *http.Request) (string, error) {
	values := r.Header.Values(keyHeader)
	if len(values) == 0 {
		return "", nil
	}
	switch _, ok := rt.kinds["clientRequestId"]; {
	case !ok:
		return "", parley.Refuse(parley.ErrInvalidParams, rt.method.Name+" does not take the header "+keyHeader, "")
	case len(values) > 1:
		return "", parley.Refuse(parley.ErrInvalidParams, "the header "+keyHeader+" is there twice", "")
	case values[0] == "" || !utf8.ValidString(values[0]):
		return "", parley.Refuse(parley.ErrInvalidParams, "the header "+keyHeader+" is not a key", "1 to 128 bytes of UTF-8")
	}
	return values[0], nil
}

// waitParams are the params of waitForChange over plain HTTP.
type waitParams struct {
	ConversationID string `json:"conversationId"`
	SinceSeq       int64  `json:"sinceSeq"`
	TimeoutMs      int64  `json:"timeoutMs,omitempty"`
	// Include is "events" to get the result of tail too.
	Include string `json:"include,omitempty"`
	// Limit is the limit of tail.
	Limit int `json:"limit,omitempty"`
}

// waitAndTail is waitForChange and, on request, tail after it.
func waitAndTail(ctx context.Context, c *calls.Call, q *waitParams) (calls.Encoder, error) {
	if q.Include != "" && q.Include != "events" {
		return nil, parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("include is %.64q", q.Include), "events")
	}
	if q.Include == "" && q.Limit != 0 {
		return nil, parley.Refuse(parley.ErrValidationFailed, "limit goes with events", "include=events")
	}
	if q.Limit < 0 || q.Limit > parley.MaxPage { // before the wait
		return nil, parley.Refuse(parley.ErrValidationFailed,
			fmt.Sprintf("limit is %d", q.Limit), fmt.Sprintf("1 to %d", parley.MaxPage))
	}
	waited, err := c.Hub().WaitForChange(ctx, c.Principal, &parley.WaitForChangeParams{
		ConversationID: q.ConversationID, SinceSeq: q.SinceSeq, TimeoutMs: q.TimeoutMs,
	})
	if err != nil || q.Include == "" {
		return calls.JSON(waited), err
	}
	if err := c.WaitForPage(ctx); err != nil {
		return nil, err
	}
	tail := &parley.TailParams{ConversationID: q.ConversationID, SinceSeq: q.SinceSeq, Limit: q.Limit}
	page, err := c.Hub().Tail(ctx, c.Principal, tail)
	timedOut := waited.TimedOut && page.LatestSeq == q.SinceSeq // an event may have arrived after the wait
	return func(b []byte) ([]byte, error) {
		b = calls.AppendTail(b, page.Events, page.NextSeq, page.LatestSeq)
		return fmt.Appendf(b[:len(b)-1], `,"timedOut":%t}`, timedOut), nil
	}, err
}
