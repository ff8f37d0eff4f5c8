package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/parleyhub/parley"
)

// chat is a person's seat in one conversation. All of it runs on the goroutine of run, but for the pump of notifications.
type chat struct {
	app    *app
	client parley.Client
	desk   *desk
	id     string
	view   *view

	guidance parley.GuidanceNotification
	// told is what was last told of it.
	told string
	// stale is the seq that guidance must reach to be believed: what was said by this seat or was refused to it is newer.
	stale int64
	// shown and said are the last seq shown and the last that this seat wrote; chat leaves when it has shown what it wrote.
	shown, said int64
	// early are the lines that were typed before it was known whose turn it is.
	early []string
	// pending is the line that waits for its turn.
	pending *string
	// attempt is what was sent and not answered.
	attempt attempt
	// claimed is the turn that this seat has taken by saying a part of it, as the seats of agents do.
	claimed  int64
	caughtUp bool // history was shown
	closed   bool
	left     bool
}

func newChat(a *app, client parley.Client, d *desk, id string) *chat {
	v := newView(a.out)
	v.write = d.write
	return &chat{app: a, client: client, desk: d, id: id, view: v}
}

// news is one notification, or the error that ended them.
type news struct {
	n   parley.Notification
	err error
}

func (c *chat) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	feed := make(chan news)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.pump(ctx, feed)
	}()
	defer func() { cancel(); <-ended }()
	for !c.done() {
		if err := c.step(ctx, feed); err != nil {
			return err
		}
	}
	if c.closed && c.pending != nil {
		return parley.Refuse(parley.ErrConversationClosed, "closed before the last line could be said", "")
	}
	return nil
}

func (c *chat) pump(ctx context.Context, feed chan<- news) {
	for n, err := range c.client.Subscribe(ctx, &parley.SubscribeParams{ConversationID: c.id}) {
		select {
		case feed <- news{n, err}:
		case <-ctx.Done():
			return
		}
	}
}

func (c *chat) done() bool {
	return c.closed || c.left && c.caughtUp && c.pending == nil && c.shown >= c.said
}

func (c *chat) step(ctx context.Context, feed <-chan news) error {
	lines := c.desk.lines
	if c.pending != nil || c.left {
		lines = nil
	}
	select {
	case n := <-feed:
		return c.hear(ctx, n)
	case line, ok := <-lines:
		if !ok {
			c.left = true
			return nil
		}
		if !c.desk.waits && !c.guided() {
			c.early = append(c.early, line)
			return nil
		}
		return c.input(ctx, line)
	case <-ctx.Done():
		c.left, c.caughtUp, c.pending, c.said = true, true, nil, 0 // ^C is a way to leave
		return nil
	}
}

func (c *chat) hear(ctx context.Context, n news) error {
	switch {
	case n.err != nil:
		return n.err
	case n.n.Event != nil:
		c.shown = n.n.Event.Seq
		c.view.event(n.n.Event)
		c.closed = c.closed || n.n.Event.Closes()
	case n.n.CaughtUp != nil:
		c.caughtUp = true
	case n.n.Delta != nil:
		if n.n.Delta.From != c.client.AgentID() {
			c.desk.typing(c.view.name(n.n.Delta.From), n.n.Delta.Text)
		}
	case n.n.Guidance != nil:
		c.guide(*n.n.Guidance)
		return errors.Join(c.typedEarly(ctx), c.retry(ctx))
	}
	return c.retry(ctx)
}

// guided says whether guidance has come yet.
func (c *chat) guided() bool { return c.guidance.Seq > 0 }

func (c *chat) typedEarly(ctx context.Context) error {
	early := c.early
	c.early = nil
	for _, line := range early {
		if err := c.input(ctx, line); err != nil {
			return err
		}
	}
	return nil
}

func (c *chat) guide(g parley.GuidanceNotification) {
	c.guidance = g
	c.desk.prompt(c.mine())
	text := guidanceText(g.Guidance)
	if g.Guidance.Kind == parley.Closed || text == c.told { // a claim that is renewed changes it, and nothing of what is told
		return
	}
	c.told = text
	c.tell(text)
}

// mine says whether this seat has the floor, as far as it knows.
func (c *chat) mine() bool {
	g := c.guidance.Guidance
	return g.Kind == parley.MaySpeak && c.guidance.Seq >= c.stale && (g.Claim == nil || c.claimed == g.Turn)
}

// tell writes a line of the program's own.
func (c *chat) tell(text string) {
	c.desk.write(c.app.out.paint(styleDim, "-- "+text))
}

// retry says the line that waited, when its time has come.
func (c *chat) retry(ctx context.Context) error {
	if c.pending == nil || !c.mine() || c.closed {
		return nil
	}
	line := *c.pending
	c.pending = nil
	return c.input(ctx, line)
}

// say sends text.
func (c *chat) say(ctx context.Context, line, text string, f parley.Finality) error {
	if !c.mine() {
		c.notNow(line)
		return nil
	}
	payload, err := encodeText(text)
	if err != nil {
		return err
	}
	p := &parley.SendMessageParams{ConversationID: c.id, Payload: payload, Finality: f, Turn: c.guidance.Guidance.Turn}
	p.ClientRequestID = c.attempt.key(p)
	r, err := c.send(ctx, p)
	if err != nil {
		return c.refused(line, err)
	}
	c.attempt = attempt{}
	c.said = r.Seq
	if r.ClaimID != "" {
		c.claimed = r.Turn
	}
	if f.Final() {
		c.stale = r.Seq
		c.desk.prompt(false)
	}
	return nil
}

// send says it. What an agent's seat had begun to say has lapsed when nobody finished it in time: then the turn is taken anew.
func (c *chat) send(ctx context.Context, p *parley.SendMessageParams) (*parley.SendResult, error) {
	r, err := call(ctx, c.app, c.client.SendMessage, p)
	if !errors.Is(err, parley.ErrClaimLost) {
		return r, err
	}
	if _, refused := call(ctx, c.app, c.client.ClaimTurn, &parley.ClaimTurnParams{ConversationID: c.id, Turn: p.Turn}); refused != nil {
		return nil, err
	}
	c.claimed = p.Turn
	return call(ctx, c.app, c.client.SendMessage, p)
}

// notNow is what becomes of a line that may not be said now.
func (c *chat) notNow(line string) {
	switch {
	case c.desk.waits:
		c.keep(line)
	case c.guidance.Guidance.Kind == parley.MaySpeak: // stale: this seat has spoken since
		c.tell("not said: your turn has just ended")
	default:
		c.tell("not said, it is not your turn: " + guidanceText(c.guidance.Guidance))
	}
}

// keep puts a line by until its turn comes.
func (c *chat) keep(line string) {
	c.pending = &line
	c.tell("kept until it is your turn: " + clean(line))
}

// refused goes on after a refusal: somebody was faster, or the line was not acceptable.
func (c *chat) refused(line string, err error) error {
	raced := errors.Is(err, parley.ErrNotYourTurn) || errors.Is(err, parley.ErrTurnClosed) || errors.Is(err, parley.ErrTurnConflict) ||
		errors.Is(err, parley.ErrClaimRequired) || errors.Is(err, parley.ErrClaimLost)
	switch {
	case raced && c.desk.waits:
		c.keep(line)
		c.stale = c.guidance.Seq + 1
		return nil
	case c.desk.waits || errors.Is(err, parley.ErrUnauthenticated):
		return err
	case errors.Is(err, errTimeout) || errors.Is(err, parley.ErrOutcomeUnknown):
		c.tell("no answer: it is not known whether this is said: " + clean(line))
		c.tell("it shows above once it is; the same line again in this turn is said once")
		return nil
	default:
		c.tell("not done: " + clean(err.Error()) + ": " + clean(line))
		return nil
	}
}

// attempt is the last message that may have been said: the same words in the same turn get the same key, so that they are said once.
type attempt struct {
	id   string
	turn int64
	text string
	f    parley.Finality
}

// key gives the key of p: that of the attempt if it is the same again, else a new one.
func (a *attempt) key(p *parley.SendMessageParams) string {
	next := attempt{a.id, p.Turn, string(p.Payload), p.Finality}
	if a.id == "" || next != *a {
		next.id = "chat-" + rand.Text()
		*a = next
	}
	return a.id
}

// why shows whose turn it is and which rules were tried, for every participant.
func (c *chat) why(ctx context.Context) error {
	r, err := call(ctx, c.app, c.client.Explain, &parley.ExplainParams{ConversationID: c.id})
	if err != nil {
		return c.refused("/why", err)
	}
	for _, g := range r.Guidance {
		c.desk.write(fmt.Sprintf("-- at #%d %s: %s", r.Seq, c.view.name(g.ParticipantID), describe(g.Guidance)))
		for _, rule := range g.Guidance.Rules {
			mark := " "
			if rule.Decided {
				mark = "*"
			}
			c.desk.write(c.app.out.paint(styleDim, fmt.Sprintf("     %s %s: %s", mark, clean(rule.Rule), clean(rule.Because))))
		}
	}
	return nil
}

// describe is guidanceText for somebody else's guidance.
func describe(g parley.Guidance) string {
	return strings.ReplaceAll(string(g.Kind), "_", " ") + ": " + clean(g.Reason)
}
