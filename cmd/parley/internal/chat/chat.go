package chat

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/cmd/parley/internal/view"
)

// chat is the seat of a person in one conversation. Everything runs on the goroutine of run, except
// the subscription.
type chat struct {
	app    *cli.App
	client parley.Client
	term   *terminal
	id     string
	view   *view.Printer

	guidance parley.GuidanceNotification
	// shownGuidance is the guidance that was shown last.
	shownGuidance string
	// stale is the seq that guidance must reach to be used. Something that this seat sent, or that
	// was refused, is newer.
	stale int64
	// lastShown and said are the last seq shown and the last that this seat wrote; chat leaves when it
	// has shown what it wrote.
	lastShown, lastSent int64
	// early are the lines that were typed before it was known whose turn it is.
	early []string
	// pending is the line that waits for its turn.
	pending *string
	// attempt is what was sent and not answered.
	attempt attempt
	// claimed is the turn that this seat claimed with a first part of a message, as the seats of
	// agents do.
	claimed  int64
	caughtUp bool // history was shown
	closed   bool
	left     bool
}

func newChat(a *cli.App, client parley.Client, d *terminal, id string) *chat {
	v := view.New(a.Out)
	v.Write = d.write
	return &chat{app: a, client: client, term: d, id: id, view: v}
}

// notification is one notification, or the error that ended them.
type notification struct {
	value parley.Notification
	err   error
}

func (c *chat) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	feed := make(chan notification)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.subscribe(ctx, feed)
	}()
	defer func() { cancel(); <-ended }()
	for !c.isDone() {
		if err := c.waitOnce(ctx, feed); err != nil {
			return err
		}
	}
	if c.closed && c.pending != nil {
		return parley.Refuse(parley.ErrConversationClosed, "closed before the last line could be said", "")
	}
	return nil
}

func (c *chat) subscribe(ctx context.Context, feed chan<- notification) {
	for n, err := range c.client.Subscribe(ctx, &parley.SubscribeParams{ConversationID: c.id}) {
		select {
		case feed <- notification{n, err}:
		case <-ctx.Done():
			return
		}
	}
}

func (c *chat) isDone() bool {
	return c.closed || c.left && c.caughtUp && c.pending == nil && c.lastShown >= c.lastSent
}

func (c *chat) waitOnce(ctx context.Context, feed <-chan notification) error {
	lines := c.term.lines
	if c.pending != nil || c.left {
		lines = nil
	}
	select {
	case n := <-feed:
		return c.handle(ctx, n)
	case line, ok := <-lines:
		if !ok {
			c.left = true
			return nil
		}
		if !c.term.queues && !c.hasGuidance() {
			c.early = append(c.early, line)
			return nil
		}
		return c.runLine(ctx, line)
	case <-ctx.Done():
		c.left, c.caughtUp, c.pending, c.lastSent = true, true, nil, 0 // ^C is a way to leave
		return nil
	}
}

func (c *chat) handle(ctx context.Context, n notification) error {
	switch {
	case n.err != nil:
		return n.err
	case n.value.Event != nil:
		c.lastShown = n.value.Event.Seq
		c.view.Event(n.value.Event)
		c.closed = c.closed || n.value.Event.Closes()
	case n.value.CaughtUp != nil:
		c.caughtUp = true
	case n.value.Delta != nil:
		if n.value.Delta.From != c.client.AgentID() {
			c.term.typing(c.view.Name(n.value.Delta.From), n.value.Delta.Text)
		}
	case n.value.Guidance != nil:
		c.showGuidance(*n.value.Guidance)
		return errors.Join(c.inputEarly(ctx), c.sendPending(ctx))
	}
	return c.sendPending(ctx)
}

// hasGuidance reports whether any guidance was received.
func (c *chat) hasGuidance() bool { return c.guidance.Seq > 0 }

func (c *chat) inputEarly(ctx context.Context) error {
	early := c.early
	c.early = nil
	for _, line := range early {
		if err := c.runLine(ctx, line); err != nil {
			return err
		}
	}
	return nil
}

func (c *chat) showGuidance(g parley.GuidanceNotification) {
	c.guidance = g
	c.term.prompt(c.hasFloor())
	text := view.GuidanceText(g.Guidance)
	// a renewed claim changes it, and nothing that is shown
	if g.Guidance.Kind == parley.Closed || text == c.shownGuidance {
		return
	}
	c.shownGuidance = text
	c.notify(text)
}

// hasFloor says whether this seat has the floor, as far as it knows.
func (c *chat) hasFloor() bool {
	g := c.guidance.Guidance
	return g.Kind == parley.MaySpeak && c.guidance.Seq >= c.stale && (g.Claim == nil || c.claimed == g.Turn)
}

// notify writes a line of the program's own.
func (c *chat) notify(text string) {
	c.term.write(c.app.Out.Paint(cli.StyleDim, "-- "+text))
}

// sendPending sends the queued line once the seat has the floor.
func (c *chat) sendPending(ctx context.Context) error {
	if c.pending == nil || !c.hasFloor() || c.closed {
		return nil
	}
	line := *c.pending
	c.pending = nil
	return c.runLine(ctx, line)
}

// sendText sends text.
func (c *chat) sendText(ctx context.Context, line, text string, f parley.Finality) error {
	if !c.hasFloor() {
		c.refuseLine(line)
		return nil
	}
	payload, err := encodeText(text)
	if err != nil {
		return err
	}
	p := &parley.SendMessageParams{ConversationID: c.id, Payload: payload, Finality: f, Turn: c.guidance.Guidance.Turn}
	p.ClientRequestID = c.attempt.keyFor(p)
	r, err := c.sendClaiming(ctx, p)
	if err != nil {
		return c.handleRefusal(line, err)
	}
	c.attempt = attempt{}
	c.lastSent = r.Seq
	if r.ClaimID != "" {
		c.claimed = r.Turn
	}
	if f.Final() {
		c.stale = r.Seq
		c.term.prompt(false)
	}
	return nil
}

// sendClaiming sends a message. If a claim of this seat has lapsed, it claims the turn again and
// sends once more.
func (c *chat) sendClaiming(ctx context.Context, p *parley.SendMessageParams) (*parley.SendResult, error) {
	r, err := cli.Call(ctx, c.app, c.client.SendMessage, p)
	if !errors.Is(err, parley.ErrClaimLost) {
		return r, err
	}
	if _, refused := cli.Call(ctx, c.app, c.client.ClaimTurn,
		&parley.ClaimTurnParams{ConversationID: c.id, Turn: p.Turn}); refused != nil {
		return nil, err
	}
	c.claimed = p.Turn
	return cli.Call(ctx, c.app, c.client.SendMessage, p)
}

// refuseLine is what becomes of a line that may not be said now.
func (c *chat) refuseLine(line string) {
	switch {
	case c.term.queues:
		c.queueLine(line)
	case c.guidance.Guidance.Kind == parley.MaySpeak: // stale: this seat has sent something since
		c.notify("not said: your turn has just ended")
	default:
		c.notify("not said, it is not your turn: " + view.GuidanceText(c.guidance.Guidance))
	}
}

// queueLine puts a line by until its turn comes.
func (c *chat) queueLine(line string) {
	c.pending = &line
	c.notify("kept until it is your turn: " + cli.Clean(line))
}

// handleRefusal continues after a refusal: another was faster, or the line was not acceptable.
func (c *chat) handleRefusal(line string, err error) error {
	raced := errors.Is(err, parley.ErrNotYourTurn) || errors.Is(err, parley.ErrTurnClosed) ||
		errors.Is(err, parley.ErrTurnConflict) ||
		errors.Is(err, parley.ErrClaimRequired) || errors.Is(err, parley.ErrClaimLost)
	switch {
	case raced && c.term.queues:
		c.queueLine(line)
		c.stale = c.guidance.Seq + 1
		return nil
	case c.term.queues || errors.Is(err, parley.ErrUnauthenticated):
		return err
	case errors.Is(err, exit.ErrTimeout) || errors.Is(err, parley.ErrOutcomeUnknown):
		c.notify("no answer: it is not known whether this is said: " + cli.Clean(line))
		c.notify("it shows above once it is; the same line again in this turn is said once")
		return nil
	default:
		c.notify("not done: " + cli.Clean(err.Error()) + ": " + cli.Clean(line))
		return nil
	}
}

// attempt is the last message that may have been said: the same words in the same turn get the same
// key, so that they are said once.
type attempt struct {
	id   string
	turn int64
	text string
	f    parley.Finality
}

// keyFor returns the key of p: the key of the attempt if it is the same message, otherwise a new
// one.
func (a *attempt) keyFor(p *parley.SendMessageParams) string {
	next := attempt{a.id, p.Turn, string(p.Payload), p.Finality}
	if a.id == "" || next != *a {
		next.id = "chat-" + rand.Text()
		*a = next
	}
	return a.id
}

// explain shows whose turn it is and which rules were tried, for every participant.
func (c *chat) explain(ctx context.Context) error {
	r, err := cli.Call(ctx, c.app, c.client.Explain, &parley.ExplainParams{ConversationID: c.id})
	if err != nil {
		return c.handleRefusal("/why", err)
	}
	for _, g := range r.Guidance {
		c.term.write(fmt.Sprintf("-- at #%d %s: %s", r.Seq, c.view.Name(g.ParticipantID), kindText(g.Guidance)))
		for _, rule := range g.Guidance.Rules {
			mark := " "
			if rule.Decided {
				mark = "*"
			}
			c.term.write(c.app.Out.Paint(cli.StyleDim,
				fmt.Sprintf("     %s %s: %s", mark, cli.Clean(rule.Rule), cli.Clean(rule.Because))))
		}
	}
	return nil
}

// kindText is the guidance of another participant.
func kindText(g parley.Guidance) string {
	return strings.ReplaceAll(string(g.Kind), "_", " ") + ": " + cli.Clean(g.Reason)
}
