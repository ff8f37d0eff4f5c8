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

// Now is hub time, asked by ping.
func (c *Client) Now(ctx context.Context) (time.Time, error) {
	r, err := call[parley.PingResult](ctx, c, methods.Ping, parley.PingParams{}, always)
	if err != nil {
		return time.Time{}, err
	}
	return time.UnixMilli(r.NowMs).UTC(), nil
}

// CreateConversation makes a conversation. It always carries a key, so it makes one only.
func (c *Client) CreateConversation(ctx context.Context, p *parley.CreateConversationParams) (*parley.Snapshot, error) {
	q := value(p)
	q.ClientRequestID, q.Traceparent = key(q.ClientRequestID), under(ctx, q.Traceparent)
	if q.Participants == nil {
		q.Participants = []parley.Participant{} // refused for what it is, not for the null that nil encodes to
	}
	return call[parley.Snapshot](ctx, c, methods.CreateConversation, q, keyed)
}

// GetConversation gives a snapshot and the events after SinceSeq.
func (c *Client) GetConversation(ctx context.Context, p *parley.GetConversationParams) (*parley.Snapshot, error) {
	return call[parley.Snapshot](ctx, c, methods.GetConversation, value(p), always)
}

// ListConversations gives a page of what the caller takes part in or created.
func (c *Client) ListConversations(ctx context.Context, p *parley.ListConversationsParams) (*parley.ListConversationsResult, error) {
	return call[parley.ListConversationsResult](ctx, c, methods.ListConversations, value(p), always)
}

// AddParticipant adds a seat. The hub recognizes a repeated one by the participant.
func (c *Client) AddParticipant(ctx context.Context, p *parley.AddParticipantParams) (*parley.SeqResult, error) {
	return call[parley.SeqResult](ctx, c, methods.AddParticipant, value(p), keyed)
}

// CloseConversation closes a conversation. There is no key for this: when an attempt was lost and the next one finds the
// conversation closed by the hub with the outcome asked for, the result is that, as a duplicate.
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

// closedAs is the result of a close that found the conversation closed, or refusal when that was somebody else's doing.
func (c *Client) closedAs(ctx context.Context, q parley.CloseConversationParams, refusal error) (*parley.SeqResult, error) {
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

// Tail gives a page of events.
func (c *Client) Tail(ctx context.Context, p *parley.TailParams) (*parley.TailResult, error) {
	return call[parley.TailResult](ctx, c, methods.Tail, value(p), always)
}

// WaitForChange waits until the log is longer than SinceSeq.
func (c *Client) WaitForChange(ctx context.Context, p *parley.WaitForChangeParams) (*parley.WaitForChangeResult, error) {
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

// GetUpdates gives the messages after SinceSeq and the caller's guidance, when what Until names has come.
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

// GetGuidance gives the caller's guidance.
func (c *Client) GetGuidance(ctx context.Context, p *parley.GetGuidanceParams) (*parley.GetGuidanceResult, error) {
	return call[parley.GetGuidanceResult](ctx, c, methods.GetGuidance, value(p), always)
}

// Explain gives the guidance of every participant at a seq.
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

// SendDelta passes a piece of text to whoever listens. It is tried once.
func (c *Client) SendDelta(ctx context.Context, p *parley.SendDeltaParams) error {
	_, err := call[parley.EmptyResult](ctx, c, methods.SendDelta, value(p), lossy)
	return err
}

// CreateToken makes a token. It is tried once: a token that was made while the answer was lost is ErrOutcomeUnknown, and
// nobody knows its secret.
func (c *Client) CreateToken(ctx context.Context, p *parley.CreateTokenParams) (*parley.CreateTokenResult, error) {
	return call[parley.CreateTokenResult](ctx, c, methods.CreateToken, value(p), once)
}

// ListTokens gives a page of the live tokens that the caller may revoke.
func (c *Client) ListTokens(ctx context.Context, p *parley.ListTokensParams) (*parley.ListTokensResult, error) {
	return call[parley.ListTokensResult](ctx, c, methods.ListTokens, value(p), always)
}

// RevokeToken ends a token and those made with it. It is tried once: revoked already, a token is not found.
func (c *Client) RevokeToken(ctx context.Context, p *parley.RevokeTokenParams) (*parley.RevokeTokenResult, error) {
	return call[parley.RevokeTokenResult](ctx, c, methods.RevokeToken, value(p), once)
}

// Stats gives what the hub has counted since it was started.
func (c *Client) Stats(ctx context.Context, p *parley.StatsParams) (*parley.Stats, error) {
	return call[parley.Stats](ctx, c, methods.Stats, value(p), always)
}

// ListAgents gives the agents that can be asked to do something, by name.
func (c *Client) ListAgents(ctx context.Context, p *parley.ListAgentsParams) (*parley.ListAgentsResult, error) {
	return call[parley.ListAgentsResult](ctx, c, methods.ListAgents, value(p), always)
}

// value is a copy of what p points at; nil is the zero value.
func value[P any](p *P) (v P) {
	if p != nil {
		v = *p
	}
	return v
}

// key is k, or a random key: 128 bits are enough for no two to be the same.
func key(k string) string {
	if k == "" {
		return rand.Text()
	}
	return k
}
