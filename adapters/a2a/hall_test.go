package a2a

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

// counted is a client that counts the events of its subscriptions.
type counted struct {
	parley.Client
	begun, events atomic.Int64
	ended         chan struct{} // receives a value for each ended subscription
}

func (c *counted) Subscribe(ctx context.Context, p *parley.SubscribeParams) iter.Seq2[parley.Notification, error] {
	return func(yield func(parley.Notification, error) bool) {
		c.begun.Add(1)
		defer func() { c.ended <- struct{}{} }()
		for n, err := range c.Client.Subscribe(ctx, p) {
			if n.Event != nil {
				c.events.Add(1)
			}
			if !yield(n, err) {
				return
			}
		}
	}
}

// newCounted returns a counted client for a caller.
func newCounted(w *opsWorld, id string) (*counted, *caller) {
	c := w.caller(id)
	n := &counted{Client: c.client, ended: make(chan struct{}, 1000)}
	c.client = n
	return n, c
}

// Many streams of one client read a task: the hub sends each event once, and each stream receives
// all of them.
func TestStreamsShareASubscription(t *testing.T) {
	const many = 8
	w := newOpsWorld(t)
	sent := w.hear(w.s.stream(t.Context(), w.caller("alice"), opsRequest("m1", "hold hall")))
	task := sent.one().event.(*a2a.Task)
	sent.until("working")
	client, alice := newCounted(w, "alice")
	conversation, _, _ := splitTask(task.ID)
	head := w.head(task.ID)
	h := w.s.joinShared(sharedKey{client, conversation}, head) // stays open for late streams
	told := make(chan []update, many)
	for range many {
		go func() {
			var all []update
			for u, err := range w.s.subscribe(t.Context(), alice, &a2a.SubscribeToTaskRequest{ID: task.ID}, "1") {
				if err != nil {
					t.Errorf("after %s: %v", opsWords(all), err)
				}
				all = append(all, u)
			}
			told <- all
		}()
	}
	late := time.After(patience)
	for n := range many { // each has read the old events separately
		select {
		case <-client.ended:
		case <-late:
			t.Fatalf("%d streams of %d keep a subscription of their own", many-n, many)
		}
	}
	before := client.events.Load()
	close(w.gate("hall"))
	var first []update
	for i := range many {
		got := <-told
		if i == 0 {
			first = got
		}
		opsSame(t, fmt.Sprint("stream ", i), got, first)
	}
	if states := opsStates(first); states[len(states)-1] != a2a.TaskStateCompleted {
		t.Errorf("states: %v", states)
	}
	w.s.leaveShared(h)
	sent.stop()
	page, err := alice.client.Tail(t.Context(), &parley.TailParams{ConversationID: conversation, SinceSeq: head})
	if err != nil {
		t.Fatal(err)
	}
	if n := client.events.Load() - before; n == 0 || n > int64(len(page.Events)) {
		t.Errorf("the hub has sent %d events to %d streams, of %d", n, many, len(page.Events))
	}
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	if len(w.s.shared) != 0 {
		t.Errorf("%d halls are open, without a stream", len(w.s.shared))
	}
}

// A stream that stops reading delays no other stream, and receives all events later, although too
// many events to keep happen meanwhile.
func TestSlowStreamDelaysNoOther(t *testing.T) {
	w := newOpsWorld(t, Agent{Name: "teller", Speaks: "teller"})
	words := make(chan string)
	w.run("teller", parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		for text := range words {
			if _, err := turn.Post(ctx, parley.Message{Text: text}, parley.FinalityNone); err != nil {
				return "", err
			}
		}
		_, err := turn.Post(ctx, parley.Message{Text: "the end"}, parley.FinalityTurn)
		return parley.TurnPosted, err
	}))
	client, alice := newCounted(w, "alice")
	task := w.send(alice, opsAtOnce(opsRequest("m1", "go on")))
	slow, fast := w.subscribe(alice, task.ID, "1"), w.subscribe(alice, task.ID, "1")
	words <- "first"
	slow.until("first")
	fast.until("first")
	words <- "second" // reaches both over the shared subscription
	slow.until("second")
	fast.until("second")
	begun := client.begun.Load()
	for n := range 2 * maxSharedBytes / (60 << 10) {
		text := fmt.Sprint("word ", n, " ", strings.Repeat("x", 60<<10))
		words <- text
		fast.until(text)
	}
	close(words)
	opsSame(t, "the slow one", slow.rest(), fast.rest())
	if client.begun.Load() == begun {
		t.Error("it was never behind")
	}
}
