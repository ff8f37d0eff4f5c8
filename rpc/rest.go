package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"unicode/utf8"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

// serveRoute serves a method over plain HTTP: what comes is made params, what goes out is the bare result or a problem.
func (s *Server) serveRoute(w http.ResponseWriter, r *http.Request, rt *route) {
	s.exchange(w, r, s.problem, func(ctx context.Context, p *post) (answer, error) {
		c, err := s.plainCall(p, w, r, rt)
		if err != nil {
			return answer{}, err
		}
		a := c.answered(ctx)
		if a.status == http.StatusOK && made[rt.method.Name] {
			return rt.created(a)
		}
		return a, nil
	})
}

// plainCall reads a request over plain HTTP.
func (s *Server) plainCall(p *post, w http.ResponseWriter, r *http.Request, rt *route) (*call, error) {
	c := &call{server: s, handler: rt.handler(), plain: true, remote: s.address(r), traceparent: traceparentOf(r)}
	var body []byte
	var err error
	if rt.verb == http.MethodPost {
		c.principal, body, err = s.receive(p, w, r)
	} else {
		c.principal, err = s.bodiless(r)
	}
	if err != nil {
		return nil, err
	}
	if c.params, err = rt.params(r, body); err != nil {
		return nil, err
	}
	c.key, err = rt.idempotencyKey(r)
	return c, err
}

// created makes the answer of a method that made something: 201 and, where it has a path of its own, Location. What was there already is
// HTTP 200.
func (rt *route) created(a answer) (answer, error) {
	var r struct {
		Duplicate      bool   `json:"duplicate"`
		ConversationID string `json:"conversationId"`
		SessionID      string `json:"sessionId"`
		ApprovalID     string `json:"approvalId"`
	}
	if err := json.Unmarshal(a.body, &r); err != nil {
		return answer{}, fmt.Errorf("read the result of %s: %w", rt.method.Name, err)
	}
	if r.Duplicate {
		return a, nil
	}
	a.status = http.StatusCreated
	switch rt.method.Name {
	case parley.MethodCreateConversation, parley.MethodForkConversation:
		a.header = http.Header{"Location": {"/conversations/" + r.ConversationID}}
	case parley.MethodStartSession:
		a.header = http.Header{"Location": {"/sessions/" + r.SessionID}}
	case parley.MethodRequestApproval:
		a.header = http.Header{"Location": {"/approvals/" + r.ApprovalID}}
	}
	return a, nil
}

const keyHeader = "Idempotency-Key"

// idempotencyKey gives the header of that name, which stands for the param clientRequestId; empty when there is none.
func (rt *route) idempotencyKey(r *http.Request) (string, error) {
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

// withKey puts the key of the header in its place in decoded params. The param may only say the same.
func withKey(params any, key string) error {
	field := reflect.ValueOf(params).Elem().FieldByName("ClientRequestID")
	if given := field.String(); given != "" && given != key {
		return parley.Refuse(parley.ErrInvalidParams, "clientRequestId is not what the header "+keyHeader+" says", "one of them, or both the same")
	}
	field.SetString(key)
	return nil
}

// waitParams are those of waitForChange over plain HTTP.
type waitParams struct {
	ConversationID string `json:"conversationId"`
	SinceSeq       int64  `json:"sinceSeq"`
	TimeoutMs      int64  `json:"timeoutMs,omitempty"`
	// Include is "events" to have what tail gives as well.
	Include string `json:"include,omitempty"`
	// Limit is that of tail.
	Limit int `json:"limit,omitempty"`
}

// waitAndTail is waitForChange and, on request, tail after it.
func waitAndTail(ctx context.Context, h *hub.Hub, p *hub.Principal, q *waitParams, g gate) (encoder, error) {
	if q.Include != "" && q.Include != "events" {
		return nil, parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("include is %.64q", q.Include), "events")
	}
	if q.Include == "" && q.Limit != 0 {
		return nil, parley.Refuse(parley.ErrValidationFailed, "limit goes with events", "include=events")
	}
	if q.Limit < 0 || q.Limit > parley.MaxPage { // said before the wait
		return nil, parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("limit is %d", q.Limit), fmt.Sprintf("1 to %d", parley.MaxPage))
	}
	waited, err := h.WaitForChange(ctx, p, &parley.WaitForChangeParams{ConversationID: q.ConversationID, SinceSeq: q.SinceSeq, TimeoutMs: q.TimeoutMs})
	if err != nil || q.Include == "" {
		return func(b []byte) ([]byte, error) { return appendJSON(b, waited) }, err
	}
	if err := g(ctx); err != nil {
		return nil, err
	}
	page, err := h.Tail(ctx, p, &parley.TailParams{ConversationID: q.ConversationID, SinceSeq: q.SinceSeq, Limit: q.Limit})
	timedOut := waited.TimedOut && page.LatestSeq == q.SinceSeq // something may have come after all
	return func(b []byte) ([]byte, error) {
		b = appendTail(b, page.Events, page.NextSeq, page.LatestSeq)
		return fmt.Appendf(b[:len(b)-1], `,"timedOut":%t}`, timedOut), nil
	}, err
}
