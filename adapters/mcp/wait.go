package mcp

import (
	"context"
	"fmt"
	"time"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
)

// How long one call waits. Many clients give a call up after 60 s, whatever progress they are told.
const (
	defaultWait = 20 * time.Second
	// DefaultMaxWait is the most for clients that are not known.
	DefaultMaxWait = 50 * time.Second
	// heartbeat is the time between two signs of life.
	heartbeat = 10 * time.Second
)

// patient are clients that are known to wait longer when they are told of progress.
var patient = map[string]time.Duration{"claude-code": 170 * time.Second}

// maxWait is how long a call of this client may wait.
func (c *call) maxWait() time.Duration {
	most := c.server.opts.MaxWait
	if info := c.req.ClientInfo(); info != nil && c.req.Params.GetProgressToken() != nil {
		most = max(most, patient[info.Name])
	}
	return most
}

// wait is how long a call that asks for so many seconds waits.
func (c *call) wait(seconds float64) time.Duration {
	return min(time.Duration(seconds*float64(time.Second)), c.maxWait())
}

// capped says that a call was to wait longer than it may; it is empty where it was not.
func (c *call) capped(seconds float64) string {
	most := c.maxWait().Seconds()
	if seconds <= most {
		return ""
	}
	return fmt.Sprintf(" A call of your client waits at most %v s.", most)
}

type waitArgs struct {
	ConversationID string  `json:"conversation_id" jsonschema:"which conversation, as list_conversations gives it"`
	SinceSeq       int64   `json:"since_seq,omitempty" jsonschema:"the since_seq of the last result that you have read; 0 for all from the beginning"`
	Until          string  `json:"until,omitempty" jsonschema:"what to wait for: my_turn, that you may speak; message, a message after since_seq; any, any event after it; closed, the end. Each also ends when the conversation is closed"`
	WaitSeconds    float64 `json:"wait_seconds,omitempty" jsonschema:"how long to wait; 0 answers at once. What is too long for your client is cut, and the result says so"`
}

func refineWait(a *arguments) {
	a.length(1, 64, "conversation_id")
	a.since("since_seq")
	a.oneOf("until", "my_turn", "message", "any", "closed")
	a.bounded("wait_seconds", 0, 3600, defaultWait.Seconds())
}

type updates struct {
	ConversationID string       `json:"conversation_id"`
	Messages       []eventView  `json:"messages"`
	Guidance       guidanceView `json:"guidance"`
	MaySpeak       bool         `json:"may_speak"`
	Status         string       `json:"status" jsonschema:"active or closed; unknown while the hub cannot be reached"`
	SinceSeq       int64        `json:"since_seq" jsonschema:"give this to the next call"`
	LatestSeq      int64        `json:"latest_seq"`
	More           bool         `json:"more" jsonschema:"there are more messages already: call again at once"`
	TimedOut       bool         `json:"timed_out"`
	WaitedMs       int64        `json:"waited_ms"`
	CapMs          int64        `json:"cap_ms" jsonschema:"the longest that a call of your client waits"`
	Withdrawn      []turnRange  `json:"withdrawn,omitempty" jsonschema:"messages that count no more: forget them"`
	Next           string       `json:"next" jsonschema:"what to do now"`
	// Approvals are the first of those that wait for the caller, in whatever conversation.
	Approvals []waitingApproval `json:"approvals,omitempty" jsonschema:"what agents ask your user for, in any conversation; list_approvals shows it"`
}

type turnRange struct {
	Turn    int64 `json:"turn"`
	FromSeq int64 `json:"from_seq"`
	ToSeq   int64 `json:"to_seq"`
}

func waitForUpdates(ctx context.Context, c *call, in *waitArgs) (*updates, error) {
	start := time.Now()
	stop := c.beat(ctx, "waiting for "+in.Until+" in "+in.ConversationID)
	got, err := c.getUpdates(ctx, in, start.Add(c.wait(in.WaitSeconds)))
	stop()
	if err != nil {
		return nil, explained(err, hints{conversation: in.ConversationID, since: in.SinceSeq})
	}
	events, next, err := c.heard(ctx, in, got)
	if err != nil {
		return nil, explained(err, hints{conversation: in.ConversationID, since: in.SinceSeq})
	}
	p := fit(events, next, next < got.LatestSeq)
	u := &updates{
		ConversationID: in.ConversationID, Messages: p.events, Guidance: viewGuidance(&got.Guidance), MaySpeak: got.Guidance.Kind == parley.MaySpeak,
		Status: string(got.Status), SinceSeq: p.next, LatestSeq: got.LatestSeq, More: p.more, TimedOut: got.TimedOut,
		WaitedMs: time.Since(start).Milliseconds(), CapMs: c.maxWait().Milliseconds(),
	}
	for _, w := range got.Withdrawn {
		u.Withdrawn = append(u.Withdrawn, turnRange(w))
	}
	u.Next, u.Approvals = u.next(in.again(u.SinceSeq)), c.waitingApprovals(ctx)
	if u.TimedOut {
		u.Next += c.capped(in.WaitSeconds)
	}
	return u, nil
}

// unreached is the answer while the hub cannot be reached: nothing new.
func (in *waitArgs) unreached(c *call, waited time.Duration) *updates {
	return &updates{
		ConversationID: in.ConversationID, Messages: []eventView{}, Guidance: guidanceView{Kind: string(parley.Wait), Reason: notReached}, Status: "unknown",
		SinceSeq: in.SinceSeq, LatestSeq: in.SinceSeq, TimedOut: true, WaitedMs: waited.Milliseconds(), CapMs: c.maxWait().Milliseconds(),
		Next: "The hub cannot be reached at the moment: " + in.again(in.SinceSeq) + ", or end your turn; nothing is lost.",
	}
}

// getUpdates waits as long as is left, in as many calls as that takes.
func (c *call) getUpdates(ctx context.Context, in *waitArgs, until time.Time) (*parley.GetUpdatesResult, error) {
	for {
		left := time.Until(until).Milliseconds()
		got, err := c.client.GetUpdates(ctx, &parley.GetUpdatesParams{
			ConversationID: in.ConversationID, SinceSeq: in.SinceSeq, Limit: MaxEvents, Until: parley.Until(in.Until), TimeoutMs: max(0, min(left, parley.MaxWaitMs)),
		})
		if err != nil || !got.TimedOut || left <= parley.MaxWaitMs {
			return got, err
		}
	}
}

// heard gives the messages of an answer with the notes between them, and the cursor behind them.
func (c *call) heard(ctx context.Context, in *waitArgs, got *parley.GetUpdatesResult) (events []parley.Event, next int64, err error) {
	if got.NextSeq-in.SinceSeq == int64(len(got.Messages)) { // nothing stands between them
		return got.Messages, got.NextSeq, nil
	}
	page, err := c.client.Tail(ctx, &parley.TailParams{ConversationID: in.ConversationID, SinceSeq: in.SinceSeq, Limit: parley.MaxPage})
	if err != nil {
		return nil, 0, err
	}
	next = min(got.NextSeq, page.NextSeq)
	stands := standingOf(got)
	for i := range page.Events {
		e := &page.Events[i]
		if e.Seq <= next && (isNote(e) || e.Type == parley.TypeMessage && stands.counts(e)) {
			events = append(events, *e)
		}
	}
	return events, next, nil
}

// again is the same call with what was read since.
func (in *waitArgs) again(since int64) string {
	s := fmt.Sprintf("wait_for_updates {conversation_id: %q, since_seq: %d", in.ConversationID, since)
	if in.Until != string(parley.UntilMyTurn) {
		s += fmt.Sprintf(", until: %q", in.Until)
	}
	if in.WaitSeconds != defaultWait.Seconds() {
		s += fmt.Sprintf(", wait_seconds: %v", in.WaitSeconds)
	}
	return s + "}"
}

// next says what to do now; again is the same call.
func (u *updates) next(again string) string {
	switch {
	case u.More:
		return "There is more already: " + again + "."
	case u.Status == string(parley.StatusClosed):
		return "The conversation is closed: nothing more to do."
	case u.MaySpeak && u.TimedOut:
		return "Another program works on your turn at the moment: " + again + ", or end your turn; nothing is lost."
	case u.MaySpeak && u.Guidance.Speaker == "" && len(u.Messages) == 0: // the floor is anyone's, also that of who has spoken last
		return fmt.Sprintf("Anyone may speak, and there is nothing new. To hear others first: wait_for_updates {conversation_id: %q, since_seq: %d, until: \"message\"}.", u.ConversationID, u.SinceSeq)
	case u.MaySpeak:
		return fmt.Sprintf("You may speak: post_message {conversation_id: %q, since_seq: %d, text: ...}.", u.ConversationID, u.SinceSeq)
	case u.TimedOut:
		return "Nothing for you yet: " + again + ", or end your turn; nothing is lost."
	}
	return "Not your turn: " + again + "."
}

func (u *updates) text() string {
	p := page{events: u.Messages}
	s := p.lines(u.ConversationID)
	for _, w := range u.Withdrawn {
		s += fmt.Sprintf("Forget #%d to #%d (turn %d): that attempt has failed and counts no more.\n", w.FromSeq, w.ToSeq, w.Turn)
	}
	if u.TimedOut && s == "" {
		return u.Next + waitingText(u.Approvals)
	}
	return s + u.Guidance.line() + "\n" + u.Next + waitingText(u.Approvals)
}

// beat tells who waits, and has asked for it, that the call goes on, until stop is called.
func (c *call) beat(ctx context.Context, what string) (stop func()) {
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
				c.progress(ctx, n*heartbeat.Seconds(), what)
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// progress tells of progress, to who has asked for it; n grows from call to call.
func (c *call) progress(ctx context.Context, n float64, text string) {
	token := c.req.Params.GetProgressToken()
	if token == nil {
		return
	}
	_ = c.req.Session.NotifyProgress(ctx, &protocol.ProgressNotificationParams{ProgressToken: token, Progress: n, Message: text}) // a client that is gone needs none
}
