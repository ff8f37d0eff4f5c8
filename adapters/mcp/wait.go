package mcp

import (
	"context"
	"fmt"
	"time"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
)

// Limits of the wait of one call. Many clients cancel a call after 60 s, even if they receive
// progress.
const (
	defaultWait = 20 * time.Second
	// DefaultMaxWait is the limit for unknown clients.
	DefaultMaxWait = 50 * time.Second
	// heartbeat is the interval between progress notifications.
	heartbeat = 10 * time.Second
)

// clientMaxWait has the limits of clients that wait longer if they receive progress.
var clientMaxWait = map[string]time.Duration{"claude-code": 170 * time.Second}

// maxWait returns the limit of a call of this client.
func (c *call) maxWait() time.Duration {
	most := c.server.opts.MaxWait
	if info := c.req.ClientInfo(); info != nil && c.req.Params.GetProgressToken() != nil {
		most = max(most, clientMaxWait[info.Name])
	}
	return most
}

// wait limits the requested seconds to maxWait.
func (c *call) wait(seconds float64) time.Duration {
	return min(time.Duration(seconds*float64(time.Second)), c.maxWait())
}

// capNotice returns a notice if the requested seconds exceed the limit, otherwise "".
func (c *call) capNotice(seconds float64) string {
	most := c.maxWait().Seconds()
	if seconds <= most {
		return ""
	}
	return fmt.Sprintf(" A call of your client waits at most %v s.", most)
}

type waitArgs struct {
	ConversationID string  `json:"conversation_id" jsonschema:"id of the conversation, from list_conversations"`
	SinceSeq       int64   `json:"since_seq,omitempty"`
	Until          string  `json:"until,omitempty"`
	WaitSeconds    float64 `json:"wait_seconds,omitempty"`
}

func refineWait(a *arguments) {
	a.textLength(1, 64, "conversation_id")
	a.nonNegative("since_seq")
	a.oneOf("until", "my_turn", "message", "any", "closed")
	a.numberRange("wait_seconds", 0, 3600, defaultWait.Seconds())
	a.describe("until", "what to wait for: my_turn: you may speak; message: a message after since_seq; "+
		"any: any event after since_seq; closed: the end. Each wait also ends when the conversation is closed")
	a.describe("wait_seconds", "seconds to wait; 0 returns at once. A wait that is too long for your client is "+
		"shortened, and the result says so")
	a.describe("since_seq", "since_seq of the last result that you have read; 0 for the beginning")
}

type updates struct {
	ConversationID string            `json:"conversation_id"`
	Messages       []eventView       `json:"messages"`
	Guidance       guidanceView      `json:"guidance"`
	MaySpeak       bool              `json:"may_speak"`
	Status         string            `json:"status" jsonschema:"active or closed; unknown while the hub cannot be reached"`
	SinceSeq       int64             `json:"since_seq" jsonschema:"pass this to the next call"`
	LatestSeq      int64             `json:"latest_seq"`
	More           bool              `json:"more" jsonschema:"if true, more messages are ready: call again at once"`
	TimedOut       bool              `json:"timed_out"`
	WaitedMs       int64             `json:"waited_ms"`
	CapMs          int64             `json:"cap_ms" jsonschema:"the longest wait of a call of your client"`
	Withdrawn      []turnRange       `json:"withdrawn,omitempty" jsonschema:"messages of failed attempts: ignore them"`
	Next           string            `json:"next" jsonschema:"the call to make next"`
	Approvals      []pendingApproval `json:"approvals,omitempty" jsonschema:"approvals for your user"`
}

type turnRange struct {
	Turn    int64 `json:"turn"`
	FromSeq int64 `json:"from_seq"`
	ToSeq   int64 `json:"to_seq"`
}

func waitForUpdates(ctx context.Context, c *call, in *waitArgs) (*updates, error) {
	start := time.Now()
	stop := c.sendHeartbeats(ctx, "waiting for "+in.Until+" in "+in.ConversationID)
	got, err := c.getUpdates(ctx, in, start.Add(c.wait(in.WaitSeconds)))
	stop()
	if err != nil {
		return nil, explain(err, hints{conversation: in.ConversationID, since: in.SinceSeq})
	}
	events, next, err := c.withNotes(ctx, in, got)
	if err != nil {
		return nil, explain(err, hints{conversation: in.ConversationID, since: in.SinceSeq})
	}
	p := fitEvents(events, next, next < got.LatestSeq)
	u := &updates{
		ConversationID: in.ConversationID, Messages: p.events, Guidance: viewGuidance(&got.Guidance),
		MaySpeak: got.Guidance.Kind == parley.MaySpeak,
		Status:   string(got.Status), SinceSeq: p.next, LatestSeq: got.LatestSeq, More: p.more, TimedOut: got.TimedOut,
		WaitedMs: time.Since(start).Milliseconds(), CapMs: c.maxWait().Milliseconds(),
	}
	for _, w := range got.Withdrawn {
		u.Withdrawn = append(u.Withdrawn, turnRange(w))
	}
	u.Next, u.Approvals = u.nextStep(in.repeatCall(u.SinceSeq)), c.pendingApprovals(ctx)
	if u.TimedOut {
		u.Next += c.capNotice(in.WaitSeconds)
	}
	return u, nil
}

// unreachedResult returns a result without news, for a hub that does not answer.
func (in *waitArgs) unreached(c *call, waited time.Duration) *updates {
	return &updates{
		ConversationID: in.ConversationID, Messages: []eventView{}, Guidance: guidanceView{Kind: string(parley.Wait),
			Reason: hubUnreachable}, Status: "unknown",
		SinceSeq: in.SinceSeq, LatestSeq: in.SinceSeq, TimedOut: true, WaitedMs: waited.Milliseconds(),
		CapMs: c.maxWait().Milliseconds(),
		Next: "The hub cannot be reached at the moment: " + in.repeatCall(in.SinceSeq) +
			", or end your turn; nothing is lost.",
	}
}

// getUpdates waits until the given time, in as many calls to the hub as necessary.
func (c *call) getUpdates(ctx context.Context, in *waitArgs, until time.Time) (*parley.GetUpdatesResult, error) {
	for {
		left := time.Until(until).Milliseconds()
		got, err := c.client.GetUpdates(ctx, &parley.GetUpdatesParams{
			ConversationID: in.ConversationID, SinceSeq: in.SinceSeq, Limit: MaxEvents, Until: parley.Until(in.Until),
			TimeoutMs: max(0, min(left, parley.MaxWaitMs)),
		})
		if err != nil || !got.TimedOut || left <= parley.MaxWaitMs {
			return got, err
		}
	}
}

// withNotes returns the messages of a result with the notes between them, and the cursor after
// them.
func (c *call) withNotes(ctx context.Context, in *waitArgs, got *parley.GetUpdatesResult) (events []parley.Event,
	next int64, err error) {
	if got.NextSeq-in.SinceSeq == int64(len(got.Messages)) { // nothing between the messages
		return got.Messages, got.NextSeq, nil
	}
	page, err := c.client.Tail(ctx, &parley.TailParams{ConversationID: in.ConversationID, SinceSeq: in.SinceSeq,
		Limit: parley.MaxPage})
	if err != nil {
		return nil, 0, err
	}
	next = min(got.NextSeq, page.NextSeq)
	withdrawn := withdrawalsOf(got)
	for i := range page.Events {
		e := &page.Events[i]
		if e.Seq <= next && (isNote(e) || e.Type == parley.TypeMessage && withdrawn.counts(e)) {
			events = append(events, *e)
		}
	}
	return events, next, nil
}

// repeatCall returns the same call with the new cursor.
func (in *waitArgs) repeatCall(since int64) string {
	s := fmt.Sprintf("wait_for_updates {conversation_id: %q, since_seq: %d", in.ConversationID, since)
	if in.Until != string(parley.UntilMyTurn) {
		s += fmt.Sprintf(", until: %q", in.Until)
	}
	if in.WaitSeconds != defaultWait.Seconds() {
		s += fmt.Sprintf(", wait_seconds: %v", in.WaitSeconds)
	}
	return s + "}"
}

// nextStep advises what to do. repeat is the same call.
func (u *updates) nextStep(again string) string {
	switch {
	case u.More:
		return "More messages are ready: " + again + "."
	case u.Status == string(parley.StatusClosed):
		return "The conversation is closed. Nothing is left to do."
	case u.MaySpeak && u.TimedOut:
		return "Another program works on your turn: " + again + ", or end your turn; nothing is lost."
	case u.MaySpeak && u.Guidance.Speaker == "" && len(u.Messages) == 0: // anyone may speak, also the last speaker
		return fmt.Sprintf("Anyone may speak, and there are no new messages. To wait for others first: wait_for_updates "+
			"{conversation_id: %q, since_seq: %d, until: \"message\"}.", u.ConversationID, u.SinceSeq)
	case u.MaySpeak:
		return fmt.Sprintf("You may speak: post_message {conversation_id: %q, since_seq: %d, text: ...}.", u.ConversationID,
			u.SinceSeq)
	case u.TimedOut:
		return "No message for you yet: " + again + ", or end your turn; nothing is lost."
	}
	return "Not your turn: " + again + "."
}

func (u *updates) text() string {
	p := page{events: u.Messages}
	s := p.lines(u.ConversationID)
	for _, w := range u.Withdrawn {
		s += fmt.Sprintf("Ignore #%d to #%d (turn %d): that attempt failed, and its messages are withdrawn.\n", w.FromSeq,
			w.ToSeq, w.Turn)
	}
	if u.TimedOut && s == "" {
		return u.Next + pendingText(u.Approvals)
	}
	return s + u.Guidance.line() + "\n" + u.Next + pendingText(u.Approvals)
}

// sendHeartbeats sends progress to a client that asked for it, until stop is called.
func (c *call) sendHeartbeats(ctx context.Context, what string) (stop func()) {
	token := c.req.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(heartbeat)
		defer ticker.Stop()
		for n := 1.0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				c.sendProgress(ctx, n*heartbeat.Seconds(), what)
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// sendProgress sends progress to a client that asked for it. n must grow from call to call.
func (c *call) sendProgress(ctx context.Context, n float64, text string) {
	token := c.req.Params.GetProgressToken()
	if token == nil {
		return
	}
	// the client may be gone
	_ = c.req.Session.NotifyProgress(ctx, &protocol.ProgressNotificationParams{ProgressToken: token, Progress: n,
		Message: text})
}
