package parley

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/parleyhub/parley/internal/spannames"
)

// Turn is one turn of one conversation under one claim, for an [Agent]. Its methods are safe for
// concurrent use. The idempotency keys of posts are numbered in the order of the calls, so only
// posts in a fixed order can be repeated by a later attempt.
type Turn struct {
	ConversationID string
	// AgentID is the participant that speaks, and Agent is the name of the agent on its seat.
	AgentID string
	Agent   string
	// Number is the turn. Every post names it, so that the hub refuses a late post instead of
	// misplacing it.
	Number int64
	// Attempt is 1 unless earlier claims of this turn failed. A claim that a restart of the hub ended
	// does not count. See Earlier.
	Attempt int
	// SinceSeq is the seq of the last message with which this participant ended a turn, or 0.
	SinceSeq int64
	// Deadline is when ctx ends at the latest. The time in which the turn waits for an approval is
	// added to it; the deadline of ctx includes that time.
	Deadline time.Time
	// ClaimID is the claim. It is empty for a turn without one.
	ClaimID string
	// Key is the prefix of the idempotency keys of the posts of this attempt.
	Key    string
	Client Client
	// Logger is never nil if an executor created the turn.
	Logger *slog.Logger

	fetching sync.Mutex // held while the context is fetched; guards the field below
	context  *GetContextResult

	mu         sync.Mutex // guards the fields below
	posts      int
	said       Said
	unanswered []*SendMessageParams // posts with an unknown outcome, in the order in which their calls returned
}

// Said counts what was posted through a Turn.
type Said struct {
	Messages int
	// Final is true if a message ended the turn.
	Final bool
	// Closed is true if that message also closed the conversation, with the status Outcome.
	Closed  bool
	Outcome OutcomeStatus
}

// Said returns what was posted so far.
func (t *Turn) Said() Said {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.said
}

// Updates returns the messages since the last turn of this participant, and its guidance.
func (t *Turn) Updates(ctx context.Context) (*GetUpdatesResult, error) {
	return t.updates(ctx, t.SinceSeq)
}

// Messages returns all messages of the conversation so far.
func (t *Turn) Messages(ctx context.Context) ([]Event, error) {
	u, err := t.updates(ctx, 0)
	if err != nil {
		return nil, err
	}
	return u.Messages, nil
}

// updates returns the messages of all pages after a seq.
func (t *Turn) updates(ctx context.Context, since int64) (*GetUpdatesResult, error) {
	all := &GetUpdatesResult{Messages: []Event{}}
	for {
		u, err := t.Client.GetUpdates(ctx, &GetUpdatesParams{ConversationID: t.ConversationID, SinceSeq: since})
		if err != nil {
			return nil, err
		}
		u.Messages, u.Withdrawn = append(all.Messages, u.Messages...), append(all.Withdrawn, u.Withdrawn...)
		all = u
		since = u.NextSeq
		if since >= u.LatestSeq {
			return all, nil
		}
	}
}

// Earlier returns the messages and traces of earlier claims of this turn, including claims that a
// restart of the hub ended. They no longer count, but can save work. Traces are included if the
// client may read them.
func (t *Turn) Earlier(ctx context.Context) ([]Event, error) {
	u, err := t.Updates(ctx)
	if err != nil {
		return nil, err
	}
	var left []Event
	for _, w := range u.Withdrawn {
		if w.Turn != t.Number {
			continue
		}
		if left, err = t.appendRange(ctx, left, w); err != nil {
			return nil, err
		}
	}
	return left, nil
}

// appendRange appends the events of a withdrawn range.
func (t *Turn) appendRange(ctx context.Context, to []Event, w Withdrawn) ([]Event, error) {
	for since := w.FromSeq - 1; since < w.ToSeq; {
		page, err := t.Client.Tail(ctx, &TailParams{ConversationID: t.ConversationID, SinceSeq: since})
		if err != nil {
			return nil, err
		}
		for _, e := range page.Events {
			if e.Seq <= w.ToSeq && e.Turn == w.Turn {
				to = append(to, e)
			}
		}
		if page.NextSeq == since {
			break
		}
		since = page.NextSeq
	}
	return to, nil
}

// Post appends a message of this turn. The client repeats a call that fails with ErrOutcomeUnknown.
// See Key.
func (t *Turn) Post(ctx context.Context, m Message, f Finality) (*SendResult, error) {
	return t.send(ctx, m, &SendMessageParams{Finality: f})
}

// PostTo posts a message that ends the turn and names the next participant, for the policies
// addressed and moderator.
func (t *Turn) PostTo(ctx context.Context, next string, m Message) (*SendResult, error) {
	return t.send(ctx, m, &SendMessageParams{Finality: FinalityTurn, TurnHint: &TurnHint{Next: next}})
}

// Complete posts the message that closes the conversation.
func (t *Turn) Complete(ctx context.Context, m Message, o Outcome) (*SendResult, error) {
	return t.send(ctx, m, &SendMessageParams{Finality: FinalityConversation, Outcome: &o})
}

// PostPayload is Post with an encoded payload, for members that Message does not have. o must be
// nil unless f is FinalityConversation.
func (t *Turn) PostPayload(ctx context.Context, payload json.RawMessage, f Finality, o *Outcome) (*SendResult, error) {
	return t.sendPayload(ctx, payload, &SendMessageParams{Finality: f, Outcome: o})
}

func (t *Turn) send(ctx context.Context, m Message, p *SendMessageParams) (*SendResult, error) {
	payload, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	return t.sendPayload(ctx, payload, p)
}

func (t *Turn) sendPayload(ctx context.Context, payload json.RawMessage, p *SendMessageParams) (*SendResult, error) {
	p.ConversationID, p.Payload, p.Turn, p.ClaimID, p.ClientRequestID = t.ConversationID, payload, t.Number, t.ClaimID,
		t.nextKey()
	return t.sendMessage(ctx, p)
}

// sendMessage sends a message and records its outcome.
func (t *Turn) sendMessage(ctx context.Context, p *SendMessageParams) (*SendResult, error) {
	r, err := t.Client.SendMessage(ctx, p)
	t.mu.Lock()
	defer t.mu.Unlock()
	if errors.Is(err, ErrOutcomeUnknown) {
		t.unanswered = append(t.unanswered, p)
	}
	if err != nil {
		return nil, err
	}
	t.said.Messages++
	t.said.Final = t.said.Final || p.Finality.Final()
	if p.Finality == FinalityConversation {
		t.said.Closed = true
		if p.Outcome != nil {
			t.said.Outcome = p.Outcome.Status
		}
	}
	return r, nil
}

// Settle repeats the posts with an unknown outcome under their keys, for example posts whose ctx
// ended before the result. After it, Said includes them, and each of them is in the log once. If
// the turn is over, nothing is added. No other post may be in progress. Settle returns the error of
// the last post.
func (t *Turn) Settle(ctx context.Context) error {
	t.mu.Lock()
	posts := t.unanswered
	t.unanswered = nil
	t.mu.Unlock()
	var last error
	for _, p := range posts {
		_, last = t.sendMessage(ctx, p)
	}
	return last
}

// Trace appends a trace of this turn.
func (t *Turn) Trace(ctx context.Context, tr Trace) (*SendResult, error) {
	payload, err := json.Marshal(tr)
	if err != nil {
		return nil, err
	}
	return t.Client.SendTrace(ctx, &SendTraceParams{
		ConversationID: t.ConversationID, Payload: payload, Turn: t.Number, ClaimID: t.ClaimID, ClientRequestID: t.nextKey(),
	})
}

// Delta sends a part of the text that will be posted to live subscribers. index is the number of
// the part, from 0.
func (t *Turn) Delta(ctx context.Context, index int64, text string) error {
	return t.Client.SendDelta(ctx, &SendDeltaParams{
		ConversationID: t.ConversationID, Turn: t.Number, ClaimID: t.ClaimID, Index: index, Text: text,
	})
}

// Attach adds a file to the conversation, and returns the reference for a message.
func (t *Turn) Attach(ctx context.Context, name, mediaType string, data []byte) (Attachment, error) {
	r, err := t.Client.PutAttachment(
		ctx,
		&PutAttachmentParams{ConversationID: t.ConversationID, Name: name, MediaType: mediaType, Data: data},
	)
	if err != nil {
		return Attachment{}, err
	}
	return Attachment{SHA256: r.SHA256, Name: name, MediaType: mediaType}, nil
}

// StartSession starts an agent for a result. The parent is this conversation unless p names another
// one. If p has no key, the call uses a key of this turn, so that a repeated call returns the same
// session.
//
// In mode sync it waits at most p.TimeoutMs. While it waits, the turn does not use capacity of its
// executor. If ctx ends first, the session continues until it ends or its parent is closed.
func (t *Turn) StartSession(ctx context.Context, p *StartSessionParams) (*Session, error) {
	q := *p
	if q.Resume == "" { // a session that is resumed has its parent
		q.ParentConversationID = cmp.Or(q.ParentConversationID, t.ConversationID)
	}
	if q.ClientRequestID == "" {
		q.ClientRequestID = t.nextKey()
	}
	return t.Client.StartSession(ctx, &q)
}

// Approve requests an approval under the claim of this turn, and waits until it is resolved or ctx
// ends. p.ConversationID and p.ClaimID default to those of the turn. While it waits, the claim
// remains current and its deadline does not run. If ctx ends, the approval remains pending. A later
// attempt with the same key receives the same approval, answered or not.
//
// Only the status [ApprovalApproved] allows the action. If the approval has an Answer, it replaces
// the proposed arguments.
func (t *Turn) Approve(ctx context.Context, p *RequestApprovalParams) (*Approval, error) {
	ctx, span := StartSpan(
		ctx,
		SpanStart{
			Name:       spannames.SpanApproval,
			Attributes: []Attribute{{Key: spannames.AttrGenAIConversationID, Value: t.ConversationID}},
		},
	)
	defer span.End()
	a, err := t.approve(ctx, p)
	if err != nil {
		span.Fail(ErrorKind(err))
		return nil, err
	}
	span.Set(
		Attribute{Key: spannames.AttrApprovalID, Value: a.ApprovalID},
		Attribute{Key: spannames.AttrApprovalDecision, Value: string(a.Status)},
	)
	return a, nil
}

// approve is Approve without its span.
func (t *Turn) approve(ctx context.Context, p *RequestApprovalParams) (*Approval, error) {
	q := *p
	q.ConversationID, q.ClaimID = cmp.Or(q.ConversationID, t.ConversationID), cmp.Or(q.ClaimID, t.ClaimID)
	a, err := t.Client.RequestApproval(ctx, &q)
	if err != nil {
		return nil, err
	}
	duplicate := a.Duplicate
	for !a.Status.Resolved() {
		if a, err = t.Client.GetApproval(ctx, &GetApprovalParams{ApprovalID: a.ApprovalID, TimeoutMs: MaxWaitMs}); err != nil {
			return nil, err
		}
	}
	a.Duplicate = duplicate
	return a, nil
}

// WaitForChange waits until the log is longer than sinceSeq, at most for timeout.
func (t *Turn) WaitForChange(ctx context.Context, sinceSeq int64, timeout time.Duration) (*WaitForChangeResult, error) {
	return t.Client.WaitForChange(
		ctx,
		&WaitForChangeParams{ConversationID: t.ConversationID, SinceSeq: sinceSeq, TimeoutMs: timeout.Milliseconds()},
	)
}

func (t *Turn) nextKey() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.posts++
	return t.Key + "." + strconv.Itoa(t.posts)
}
