package sdk

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
)

// Now returns the hub time. It calls ping.
func (c *Client) Now(ctx context.Context) (time.Time, error) {
	r, err := call[parley.PingResult](ctx, c, methods.Ping, parley.PingParams{}, always)
	if err != nil {
		return time.Time{}, err
	}
	return time.UnixMilli(r.NowMs).UTC(), nil
}

// CreateConversation creates a conversation. It always has a key, so a repeated call creates one
// only.
func (c *Client) CreateConversation(ctx context.Context, p *parley.CreateConversationParams) (*parley.Snapshot, error) {
	q := value(p)
	q.ClientRequestID, q.Traceparent = key(q.ClientRequestID), under(ctx, q.Traceparent)
	if q.Participants == nil {
		q.Participants = []parley.Participant{} // refused for what it is, not for the null that nil encodes to
	}
	return call[parley.Snapshot](ctx, c, methods.CreateConversation, q, keyed)
}

// GetConversation returns a snapshot and the events after SinceSeq.
func (c *Client) GetConversation(ctx context.Context, p *parley.GetConversationParams) (*parley.Snapshot, error) {
	return call[parley.Snapshot](ctx, c, methods.GetConversation, value(p), always)
}

// ListConversations returns a page of the conversations that the caller takes part in or created.
func (c *Client) ListConversations(
	ctx context.Context,
	p *parley.ListConversationsParams,
) (*parley.ListConversationsResult, error) {
	return call[parley.ListConversationsResult](ctx, c, methods.ListConversations, value(p), always)
}

// AddParticipant adds a participant. The hub recognizes a repeated call by the participant.
func (c *Client) AddParticipant(ctx context.Context, p *parley.AddParticipantParams) (*parley.SeqResult, error) {
	return call[parley.SeqResult](ctx, c, methods.AddParticipant, value(p), keyed)
}

// CloseConversation closes a conversation. It has no key. If an answer was lost, and the next
// attempt finds that the hub closed the conversation with the same outcome, it returns a duplicate.
func (c *Client) CloseConversation(ctx context.Context, p *parley.CloseConversationParams) (*parley.SeqResult, error) {
	q := value(p)
	body, err := encode(q)
	if err != nil {
		return nil, err
	}
	raw, lost, err := c.insist(ctx, methods.CloseConversation, body)
	switch {
	case lost && errors.Is(err, parley.ErrConversationClosed):
		return c.closedAs(ctx, q, err)
	case err != nil:
		return nil, err
	}
	r := new(parley.SeqResult)
	return r, json.Unmarshal(raw, r)
}

// closedAs returns the result of a close that found the conversation closed, or refusal if another
// caller closed it.
func (c *Client) closedAs(
	ctx context.Context,
	q parley.CloseConversationParams,
	refusal error,
) (*parley.SeqResult, error) {
	want := parley.Outcome{Status: parley.OutcomeCompleted, Reason: parley.ReasonClosed}
	if q.Outcome != nil {
		want = *q.Outcome
	}
	s, err := c.GetConversation(ctx, &parley.GetConversationParams{ConversationID: q.ConversationID, Limit: 1})
	if err != nil {
		return nil, err
	}
	last, err := c.Tail(ctx, &parley.TailParams{ConversationID: q.ConversationID, SinceSeq: s.LatestSeq - 1})
	if err != nil {
		return nil, err
	}
	if len(last.Events) != 1 || last.Events[0].From != parley.HubID || s.Outcome == nil || *s.Outcome != want {
		return nil, refusal
	}
	return &parley.SeqResult{Seq: s.LatestSeq, Duplicate: true}, nil
}

// Tail returns a page of events.
func (c *Client) Tail(ctx context.Context, p *parley.TailParams) (*parley.TailResult, error) {
	return call[parley.TailResult](ctx, c, methods.Tail, value(p), always)
}

// WaitForChange waits until the log is longer than SinceSeq.
func (c *Client) WaitForChange(
	ctx context.Context,
	p *parley.WaitForChangeParams,
) (*parley.WaitForChangeResult, error) {
	q := value(p)
	if q.TimeoutMs <= 0 {
		return call[parley.WaitForChangeResult](ctx, c, methods.WaitForChange, q, always)
	}
	var r *parley.WaitForChangeResult
	err := c.wait(q.TimeoutMs, func(ms int64) (_ bool, err error) {
		q.TimeoutMs = ms
		r, err = callVia[parley.WaitForChangeResult](ctx, c, c.enterWait, methods.WaitForChange, q, always)
		return err == nil && r.TimedOut, err
	})
	return r, err
}

// GetUpdates returns the messages after SinceSeq and the guidance of the caller. With TimeoutMs it
// waits for Until.
func (c *Client) GetUpdates(ctx context.Context, p *parley.GetUpdatesParams) (*parley.GetUpdatesResult, error) {
	q := value(p)
	if q.TimeoutMs <= 0 {
		return call[parley.GetUpdatesResult](ctx, c, methods.GetUpdates, q, always)
	}
	var r *parley.GetUpdatesResult
	err := c.wait(q.TimeoutMs, func(ms int64) (_ bool, err error) {
		q.TimeoutMs = ms
		r, err = callVia[parley.GetUpdatesResult](ctx, c, c.enterWait, methods.GetUpdates, q, always)
		return err == nil && r.TimedOut, err
	})
	return r, err
}

// GetGuidance returns the guidance of the caller.
func (c *Client) GetGuidance(ctx context.Context, p *parley.GetGuidanceParams) (*parley.GetGuidanceResult, error) {
	return call[parley.GetGuidanceResult](ctx, c, methods.GetGuidance, value(p), always)
}

// Explain returns the guidance of all participants at a seq.
func (c *Client) Explain(ctx context.Context, p *parley.ExplainParams) (*parley.ExplainResult, error) {
	return call[parley.ExplainResult](ctx, c, methods.Explain, value(p), always)
}

// SendMessage appends a message.
func (c *Client) SendMessage(ctx context.Context, p *parley.SendMessageParams) (*parley.SendResult, error) {
	q := value(p)
	q.ClientRequestID, q.Traceparent = key(q.ClientRequestID), under(ctx, q.Traceparent)
	return call[parley.SendResult](ctx, c, methods.SendMessage, q, keyed)
}

// SendTrace appends a trace.
func (c *Client) SendTrace(ctx context.Context, p *parley.SendTraceParams) (*parley.SendResult, error) {
	q := value(p)
	q.ClientRequestID, q.Traceparent = key(q.ClientRequestID), under(ctx, q.Traceparent)
	return call[parley.SendResult](ctx, c, methods.SendTrace, q, keyed)
}

// SendNote appends a note.
func (c *Client) SendNote(ctx context.Context, p *parley.SendNoteParams) (*parley.SeqResult, error) {
	q := value(p)
	q.ClientRequestID, q.Traceparent = key(q.ClientRequestID), under(ctx, q.Traceparent)
	return call[parley.SeqResult](ctx, c, methods.SendNote, q, keyed)
}

// SendDelta sends a part of a text to live subscribers. It makes one attempt.
func (c *Client) SendDelta(ctx context.Context, p *parley.SendDeltaParams) error {
	_, err := call[parley.EmptyResult](ctx, c, methods.SendDelta, value(p), lossy)
	return err
}

// CreateToken creates a token. It makes one attempt. If the answer is lost, it returns
// ErrOutcomeUnknown, and the secret of the token is lost too.
func (c *Client) CreateToken(ctx context.Context, p *parley.CreateTokenParams) (*parley.CreateTokenResult, error) {
	return call[parley.CreateTokenResult](ctx, c, methods.CreateToken, value(p), once)
}

// ListTokens returns a page of the valid tokens that the caller may revoke.
func (c *Client) ListTokens(ctx context.Context, p *parley.ListTokensParams) (*parley.ListTokensResult, error) {
	return call[parley.ListTokensResult](ctx, c, methods.ListTokens, value(p), always)
}

// RevokeToken revokes a token and those that were created with it. It makes one attempt. For a
// token that is already revoked it returns ErrNotFound.
func (c *Client) RevokeToken(ctx context.Context, p *parley.RevokeTokenParams) (*parley.RevokeTokenResult, error) {
	return call[parley.RevokeTokenResult](ctx, c, methods.RevokeToken, value(p), once)
}

// Stats returns the counters of the hub since its start.
func (c *Client) Stats(ctx context.Context, p *parley.StatsParams) (*parley.Stats, error) {
	return call[parley.Stats](ctx, c, methods.Stats, value(p), always)
}

// ListAgents returns the agents that the caller can use, in the order of their names.
func (c *Client) ListAgents(ctx context.Context, p *parley.ListAgentsParams) (*parley.ListAgentsResult, error) {
	return call[parley.ListAgentsResult](ctx, c, methods.ListAgents, value(p), always)
}

// value returns a copy of *p, or the zero value if p is nil.
func value[P any](p *P) (v P) {
	if p != nil {
		v = *p
	}
	return v
}

// key returns k, or a random key of at least 128 bits, so that no two are the same.
func key(k string) string {
	if k == "" {
		return rand.Text()
	}
	return k
}
