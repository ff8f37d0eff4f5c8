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

// Turn is what an agent gets to work with: one turn of one conversation, under one claim. Its methods may be called from any goroutine, but the
// keys of posts are numbered in the order of the calls: so concurrent ones are not safe to repeat.
type Turn struct {
	ConversationID string
	// AgentID is the participant that speaks, and Agent the name of the agent that sits there.
	AgentID string
	Agent   string
	// Number is the turn; every post names it, so that words that come too late are refused and not misplaced.
	Number int64
	// Attempt is 1 unless earlier claims of this turn have failed. One that a restart of the hub has ended has not: see Earlier.
	Attempt int
	// SinceSeq is the seq of the last message with which this participant has ended a turn; 0 when it has not.
	SinceSeq int64
	// Deadline is when ctx ends at the latest, but for the time in which the turn waits for an approval: that is added, as ctx then says.
	Deadline time.Time
	// ClaimID is the claim; empty for a turn without one.
	ClaimID string
	// Key begins the idempotency keys of this attempt's posts.
	Key    string
	Client Client
	// Logger is never nil when an executor made the turn.
	Logger *slog.Logger

	fetching sync.Mutex // held while the context is fetched; guards the field below
	context  *GetContextResult

	mu         sync.Mutex // guards the fields below
	posts      int
	said       Said
	unanswered []*SendMessageParams // posts of unknown outcome, in the order in which that was known
}

// Said is what a turn has brought into the log through its Turn.
type Said struct {
	Messages int
	// Final is true when one of them ended the turn.
	Final bool
	// Closed is true when it ended the conversation too, and Outcome says how then.
	Closed  bool
	Outcome OutcomeStatus
}

// Said tells what was posted so far.
func (t *Turn) Said() Said {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.said
}

// Updates gives the messages since this participant's last turn, and its guidance.
func (t *Turn) Updates(ctx context.Context) (*GetUpdatesResult, error) {
	return t.updates(ctx, t.SinceSeq)
}

// Messages gives all messages of the conversation so far.
func (t *Turn) Messages(ctx context.Context) ([]Event, error) {
	u, err := t.updates(ctx, 0)
	if err != nil {
		return nil, err
	}
	return u.Messages, nil
}

// updates puts all pages after a seq together.
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

// Earlier gives the messages and traces that earlier claims of this turn have left, those that a restart of the hub has ended too: they count no more, but may save
// work. Traces are among them where the client sees them.
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

// appendRange adds the events of a withdrawn range.
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

// Post appends a message of this turn. A call that fails with ErrOutcomeUnknown is repeated by the client; see Key.
func (t *Turn) Post(ctx context.Context, m Message, f Finality) (*SendResult, error) {
	return t.send(ctx, m, &SendMessageParams{Finality: f})
}

// PostTo is Post that ends the turn and names who shall be next: for the policies addressed and moderator.
func (t *Turn) PostTo(ctx context.Context, next string, m Message) (*SendResult, error) {
	return t.send(ctx, m, &SendMessageParams{Finality: FinalityTurn, TurnHint: &TurnHint{Next: next}})
}

// Complete posts the message that closes the conversation.
func (t *Turn) Complete(ctx context.Context, m Message, o Outcome) (*SendResult, error) {
	return t.send(ctx, m, &SendMessageParams{Finality: FinalityConversation, Outcome: &o})
}

// PostPayload is Post with the payload as it is to be in the log, for members that Message does not have. Outcome goes with FinalityConversation alone.
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
	p.ConversationID, p.Payload, p.Turn, p.ClaimID, p.ClientRequestID = t.ConversationID, payload, t.Number, t.ClaimID, t.nextKey()
	return t.sendMessage(ctx, p)
}

// sendMessage keeps what has become of a post.
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

// Settle repeats the posts whose outcome is unknown, as where their ctx has ended before the answer, each under its key: so Said knows of them, and they are in the log
// once. When the turn is over nothing is added any more. No other post may be under way. It fails with what the last of them was refused with.
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

// Delta passes a piece of the text that is about to be posted to live subscribers. Index counts the pieces from 0.
func (t *Turn) Delta(ctx context.Context, index int64, text string) error {
	return t.Client.SendDelta(ctx, &SendDeltaParams{
		ConversationID: t.ConversationID, Turn: t.Number, ClaimID: t.ClaimID, Index: index, Text: text,
	})
}

// Attach adds a file to the conversation and gives what a message refers to it by.
func (t *Turn) Attach(ctx context.Context, name, mediaType string, data []byte) (Attachment, error) {
	r, err := t.Client.PutAttachment(ctx, &PutAttachmentParams{ConversationID: t.ConversationID, Name: name, MediaType: mediaType, Data: data})
	if err != nil {
		return Attachment{}, err
	}
	return Attachment{SHA256: r.SHA256, Name: name, MediaType: mediaType}, nil
}

// StartSession starts an agent for a result, out of this conversation unless p names another parent. A key of this turn is used where p has none: so a call
// that is repeated, as by a client that has lost the answer, is one session. In mode sync it waits as long as p.TimeoutMs says; while it waits the turn
// holds none of its executor's capacity. When ctx ends first, as with the claim, the session goes on until it ends or the parent is closed.
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

// Approve asks under the claim of this turn whether it may do something, and waits for the answer: until the approval is resolved, or ctx ends. A p without ConversationID and ClaimID is for this
// turn. Meanwhile the claim stands and its time does not run. An attempt that comes after this one meets the same approval by the same key, answered or not. Only an approval with the Status
// ApprovalApproved allows anything, and where it has an Answer that is what to do. When ctx ends the approval stays as it is.
func (t *Turn) Approve(ctx context.Context, p *RequestApprovalParams) (*Approval, error) {
	ctx, span := StartSpan(ctx, SpanStart{Name: spannames.SpanApproval, Attributes: []Attribute{{Key: spannames.AttrGenAIConversationID, Value: t.ConversationID}}})
	defer span.End()
	a, err := t.approve(ctx, p)
	if err != nil {
		span.Fail(ErrorKind(err))
		return nil, err
	}
	span.Set(Attribute{Key: spannames.AttrApprovalID, Value: a.ApprovalID}, Attribute{Key: spannames.AttrApprovalDecision, Value: string(a.Status)})
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
	return t.Client.WaitForChange(ctx, &WaitForChangeParams{ConversationID: t.ConversationID, SinceSeq: sinceSeq, TimeoutMs: timeout.Milliseconds()})
}

func (t *Turn) nextKey() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.posts++
	return t.Key + "." + strconv.Itoa(t.posts)
}
