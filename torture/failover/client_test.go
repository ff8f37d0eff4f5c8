package failover

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/sdk"
)

// betweenWords is what a client leaves between two words, so that the machine is not what is
// tested.
const betweenWords = 50 * time.Millisecond

// word is what was acknowledged to a client, or, of a reader, an event that it got.
type word struct {
	conversation, text string
	seq                int64
	at                 time.Time
}

// client is one of the sdk, that knows all hubs.
type client struct {
	*sdk.Client
	name  string
	reads bool // it says nothing
	again chan time.Time

	mu    sync.Mutex // guards the fields below
	words []word
	left  string // the hub without which it shall speak again; empty when it need not, or has
	err   error  // why it has stopped by itself
}

// dial connects a client to a hub; it knows the others.
func (w *world) dial(at *place, name string) *client {
	w.t.Helper()
	for {
		c, err := sdk.Dial(w.t.Context(), w.urls(), &sdk.Options{Token: w.token, AgentID: name})
		if err != nil {
			w.t.Fatal(err)
		}
		if at == nil || c.URL() == at.url {
			w.t.Cleanup(func() { _ = c.Close() })
			return &client{Client: c, name: name, again: make(chan time.Time, 1)}
		}
		_ = c.Close()
	}
}

// heard notes a word.
func (c *client) heard(conversation, text string, seq int64) {
	now, at := time.Now(), c.URL()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.words = append(c.words, word{conversation, text, seq, now})
	if c.left != "" && c.left != at { // what the hub said last, and came only now, does not count
		c.left = ""
		c.again <- now
	}
}

// leaves makes the client report its first call on another hub.
func (c *client) leaves(url string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.left = url
}

// said returns what was acknowledged so far.
func (c *client) said() []word {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.words // existing elements do not change
}

// fails notes why the client has stopped by itself.
func (c *client) fails(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = errors.Join(c.err, err)
}

func (c *client) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// send says something under its own key, until it is acknowledged.
func (c *client) send(ctx context.Context, conversation, text string) error {
	r, err := c.SendMessage(ctx, &parley.SendMessageParams{
		ConversationID: conversation, Payload: json.RawMessage(fmt.Sprintf(`{"text":%q}`, text)),
		Finality: parley.FinalityTurn, ClientRequestID: text,
	})
	if err == nil {
		c.heard(conversation, text, r.Seq)
	}
	return err
}

// write says one thing after another until it shall stop.
func (c *client) write(ctx context.Context, conversation string, stop <-chan struct{}) error {
	for n := 1; !over(stop); n++ {
		if err := c.send(ctx, conversation, fmt.Sprintf("%s says %d", c.name, n)); err != nil {
			return err
		}
	}
	return nil
}

// over waits for a moment, and reports whether it shall stop.
func over(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	case <-time.After(betweenWords):
		return false
	}
}

// ask asks one question after another, and waits for each answer, until it shall stop.
func (c *client) ask(ctx context.Context, conversation string, stop <-chan struct{}) error {
	for n := 1; !over(stop); n++ {
		if err := c.send(ctx, conversation, fmt.Sprintf("question %d of %s", n, conversation)); err != nil {
			return err
		}
		since := c.said()[n-1].seq
		for mine := false; !mine; {
			u, err := c.GetUpdates(ctx, &parley.GetUpdatesParams{ConversationID: conversation, SinceSeq: since, Until: parley.UntilMyTurn, TimeoutMs: 60_000})
			if err != nil {
				return err
			}
			mine = !u.TimedOut
		}
	}
	return nil
}

// answer runs an agent until stop, which says something before each answer.
func (c *client) answer(stop context.Context) error {
	agent := parley.AgentFunc(func(ctx context.Context, t *parley.Turn) (parley.TurnOutcome, error) {
		say := func(text string, f parley.Finality) error {
			r, err := t.Post(ctx, parley.Message{Text: text}, f)
			if err == nil {
				c.heard(t.ConversationID, text, r.Seq)
			}
			return err
		}
		if err := say(fmt.Sprintf("about turn %d, attempt %d", t.Number, t.Attempt), parley.FinalityNone); err != nil {
			return "", err
		}
		time.Sleep(betweenWords / 2) // its work
		return parley.TurnPosted, say(answerOf(t.Number), parley.FinalityTurn)
	})
	return executors.External(c.Client, agent, &executors.Options{Agents: []string{c.name}}).Run(stop)
}

func answerOf(turn int64) string { return fmt.Sprintf("answer in turn %d", turn) }

// read follows a conversation until ctx ends.
func (c *client) read(ctx context.Context, conversation string) error {
	for e, err := range c.Events(ctx, conversation, 0) {
		if err != nil {
			return err
		}
		c.heard(conversation, string(e.Raw()), e.Seq)
	}
	return nil
}

// create makes a conversation.
func (w *world) create(ctx context.Context, by parley.Client, p *parley.CreateConversationParams) {
	w.t.Helper()
	p.Limits = &parley.Limits{MaxEvents: parley.MaxEventsLimit, MaxBytes: parley.MaxBytesLimit}
	if _, err := by.CreateConversation(ctx, p); err != nil {
		w.t.Fatal(err)
	}
}

// waitFor waits until f returns true. It fails the test at the time limit.
func waitFor(t *testing.T, what string, f func() bool) {
	t.Helper()
	deadline := time.Now().Add(hangTime)
	for !f() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
