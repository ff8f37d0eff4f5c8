package executors_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/sdk/sdktest"
)

var quick = &executors.Options{MinBackoff: time.Millisecond, MaxBackoff: 5 * time.Millisecond, PollEvery: 5 * time.Millisecond}

// post says a text and ends the turn.
func post(ctx context.Context, turn *parley.Turn, text string) error {
	_, err := turn.Post(ctx, parley.Message{Text: text}, parley.FinalityTurn)
	return err
}

// talk says which turn it is, and ends the conversation in the last.
func talk(last int64) parley.AgentFunc {
	return func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		text := fmt.Sprint(turn.AgentID, " ", turn.Number)
		if turn.Number == last {
			_, err := turn.Complete(ctx, parley.Message{Text: text}, parley.Outcome{Status: parley.OutcomeCompleted, Reason: "done"})
			return parley.TurnComplete, err
		}
		return parley.TurnPosted, post(ctx, turn, text)
	}
}

func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func said(t *testing.T, c parley.Client, id string) (texts []string) {
	t.Helper()
	turn := parley.Turn{ConversationID: id, Client: c}
	events, err := turn.Messages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		m, err := e.Message()
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, m.Text)
	}
	return texts
}

// loops runs a loop for each agent, the same one, and waits for all to end.
func loops(ctx context.Context, t *testing.T, h *sdktest.Hub, id string, agents map[string]parley.Agent) {
	t.Helper()
	var wg sync.WaitGroup
	defer wg.Wait()
	for name, agent := range agents {
		c := h.InProcess(t, name)
		wg.Go(func() {
			if err := executors.Loop(ctx, c, id, agent, quick); err != nil {
				t.Errorf("loop of %s: %v", name, err)
			}
		})
	}
}

// TestLoop: two agents take turns until one ends it, and both loops end.
func TestLoop(t *testing.T) {
	h := sdktest.NewHub(t)
	id := h.Create(t, "a", "b")
	loops(within(t), t, h, id, map[string]parley.Agent{"a": talk(4), "b": talk(4)})
	if got, want := said(t, h.InProcess(t, "a"), id), []string{"a 1", "b 2", "a 3", "b 4"}; !slices.Equal(got, want) {
		t.Errorf("said %q, expected %q", got, want)
	}
}

// TestLoopOfManyProcesses: the same agent runs several times, and speaks once in each turn.
func TestLoopOfManyProcesses(t *testing.T) {
	h := sdktest.NewHub(t)
	id := h.Create(t, "a", "b")
	ctx := within(t)
	var wg sync.WaitGroup
	for range 4 {
		for _, name := range []string{"a", "b"} {
			c := h.Client(t, name)
			wg.Go(func() {
				if err := executors.Loop(ctx, c, id, talk(10), quick); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	if got := said(t, h.InProcess(t, "a"), id); len(got) != 10 {
		t.Errorf("said %q, expected 10 messages", got)
	}
}

// TestLoopSurvives: an agent that fails, panics, or crashes behind its words says everything once in the end.
func TestLoopSurvives(t *testing.T) {
	for name, trouble := range map[string]func(){
		"error": nil,
		"panic": func() { panic("a fault of the agent") },
	} {
		t.Run(name, func(t *testing.T) {
			h := sdktest.NewHub(t)
			id := h.Create(t, "a", "b")
			var calls atomic.Int64
			flaky := parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
				n := calls.Add(1)
				for _, step := range []int64{1, 2} { // fails before anything is said, then after some of it
					if n == step && trouble != nil {
						trouble()
					}
					if n == step {
						return "", errors.New("not today")
					}
					if _, err := turn.Post(ctx, parley.Message{Text: fmt.Sprint("progress ", step)}, parley.FinalityNone); err != nil {
						return "", err
					}
				}
				_, err := turn.Complete(ctx, parley.Message{Text: "done"}, parley.Outcome{Status: parley.OutcomeCompleted})
				return parley.TurnComplete, err
			})
			loops(within(t), t, h, id, map[string]parley.Agent{"a": flaky})
			if got, want := said(t, h.InProcess(t, "a"), id), []string{"progress 1", "progress 2", "done"}; !slices.Equal(got, want) {
				t.Errorf("said %q, expected %q", got, want)
			}
			if calls.Load() != 3 {
				t.Errorf("the agent was called %d times, expected 3", calls.Load())
			}
		})
	}
}

// TestLoopOfAnotherMind: an agent that says something else when its turn is handled again goes on behind what it had said.
func TestLoopOfAnotherMind(t *testing.T) {
	h := sdktest.NewHub(t)
	id := h.Create(t, "a", "b")
	calls := 0
	fickle := parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		calls++
		if _, err := turn.Post(ctx, parley.Message{Text: fmt.Sprint("idea ", calls)}, parley.FinalityNone); err != nil {
			return "", err
		}
		if calls == 1 {
			return "", errors.New("lost the thread")
		}
		_, err := turn.Complete(ctx, parley.Message{Text: "done"}, parley.Outcome{Status: parley.OutcomeCompleted})
		return parley.TurnComplete, err
	})
	loops(within(t), t, h, id, map[string]parley.Agent{"a": fickle})
	if got, want := said(t, h.InProcess(t, "a"), id), []string{"idea 1", "idea 3", "done"}; !slices.Equal(got, want) {
		t.Errorf("said %q, expected %q", got, want)
	}
}

// TestLoopRests: an agent with nothing to say is called again only when something was added.
func TestLoopRests(t *testing.T) {
	h := sdktest.NewHub(t)
	id := h.Create(t, "a", "b")
	b := h.InProcess(t, "b")
	called := make(chan int64, 1000) // with how long a log
	ctx, cancel := context.WithCancel(within(t))
	shy := parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		w, err := turn.Client.WaitForChange(ctx, &parley.WaitForChangeParams{ConversationID: id})
		if err == nil {
			called <- w.LatestSeq
		}
		return parley.TurnNoAction, err
	})
	ended := make(chan error, 1)
	go func() { ended <- executors.Loop(ctx, h.InProcess(t, "a"), id, shy, quick) }()
	for want := int64(1); want <= 20; want++ {
		if got := <-called; got != want {
			t.Fatalf("the agent was called with %d events in the log, expected %d: once for each", got, want)
		}
		if _, err := b.SendNote(t.Context(), &parley.SendNoteParams{
			ConversationID: id, Payload: parley.Note{Schema: "x.v1", Data: json.RawMessage(`{}`)},
		}); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the loop ends with %v", err)
	}
}

// TestLoopWhereAnyoneMaySpeak: an agent answers others and not itself.
func TestLoopWhereAnyoneMaySpeak(t *testing.T) {
	h := sdktest.NewHub(t)
	a := h.InProcess(t, "a")
	s, err := a.CreateConversation(t.Context(), &parley.CreateConversationParams{
		Policy:       &parley.Policy{Kind: parley.PolicyOpen},
		Participants: []parley.Participant{{ID: "a", Kind: parley.KindHuman}, {ID: "b", Kind: parley.KindAgent}},
		StartsWith:   "a",
	})
	if err != nil {
		t.Fatal(err)
	}
	id := s.ConversationID
	ended := make(chan error, 1)
	ctx := within(t)
	go func() { ended <- executors.Loop(ctx, h.InProcess(t, "b"), id, talk(0), quick) }()
	for n := range 5 {
		f := parley.FinalityTurn
		if n == 4 {
			f = parley.FinalityConversation
		}
		r, err := a.SendMessage(ctx, &parley.SendMessageParams{ConversationID: id, Payload: json.RawMessage(`{"text":"a speaks"}`), Finality: f})
		if err != nil {
			t.Fatal(err)
		}
		if n == 4 {
			break
		}
		u, err := a.GetUpdates(ctx, &parley.GetUpdatesParams{ConversationID: id, SinceSeq: r.Seq, Until: parley.UntilMessage, TimeoutMs: 10_000})
		if err != nil || len(u.Messages) != 1 || u.Messages[0].From != "b" {
			t.Fatalf("the answer is %+v, %v", u, err)
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	want := []string{"a speaks", "b 2", "a speaks", "b 4", "a speaks", "b 6", "a speaks", "b 8", "a speaks"}
	if got := said(t, a, id); !slices.Equal(got, want) {
		t.Errorf("said %q, expected %q", got, want)
	}
}

// TestLoopEnds: with what nothing mends.
func TestLoopEnds(t *testing.T) {
	h := sdktest.NewHub(t)
	id := h.Create(t, "a", "b")
	if err := executors.Loop(within(t), h.InProcess(t, "stranger"), id, talk(0), quick); !errors.Is(err, parley.ErrNotFound) {
		t.Errorf("a stranger's loop ends with %v", err)
	}
	c := h.InProcess(t, "b")
	ended := make(chan error, 1)
	go func() { ended <- executors.Loop(t.Context(), c, id, talk(0), quick) }()
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, parley.ErrUnavailable) {
		t.Errorf("the loop of a closed client ends with %v", err)
	}
}

// TestServe: conversations that are there and those that come later are served, each to its end, over a restart of the hub.
func TestServe(t *testing.T) {
	h := sdktest.NewHub(t)
	var ids []string
	create := func() {
		for range 20 {
			ids = append(ids, h.Create(t, "a", "b"))
		}
	}
	create()
	other := h.Create(t, "x", "y")
	ctx, cancel := context.WithCancel(within(t))
	ended := make(chan error, 2)
	clients := []parley.Client{h.Client(t, "a"), h.Client(t, "b")}
	for _, c := range clients {
		go func() { ended <- executors.Serve(ctx, c, talk(6), quick) }()
	}
	create()
	h.Restart(t)
	create()
	for _, id := range ids {
		for { // a wait may be shorter than asked for
			u, err := clients[0].GetUpdates(ctx, &parley.GetUpdatesParams{ConversationID: id, Until: parley.UntilClosed, TimeoutMs: 20_000})
			if err != nil {
				t.Fatal(err)
			}
			if u.Status == parley.StatusClosed {
				break
			}
		}
		if got := said(t, clients[0], id); len(got) != 6 {
			t.Errorf("said %q", got)
		}
	}
	cancel()
	for range clients {
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Serve ends with %v", err)
		}
	}
	if got := said(t, h.Admin(t), other); len(got) != 0 {
		t.Errorf("in a conversation of others was said %q", got)
	}
}

// TestServeTurnsPages: more conversations than a page has are waiting for somebody else, and the one behind them is served.
func TestServeTurnsPages(t *testing.T) {
	h := sdktest.NewHub(t)
	b := h.InProcess(t, "b")
	var last string
	for n := range 105 {
		p := &parley.CreateConversationParams{Participants: []parley.Participant{{ID: "b", Kind: parley.KindHuman}, {ID: "a", Kind: parley.KindAgent}}}
		if n == 104 {
			p.StartsWith = "a"
		}
		s, err := b.CreateConversation(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		last = s.ConversationID
	}
	ctx, cancel := context.WithCancel(within(t))
	ended := make(chan error, 1)
	go func() { ended <- executors.Serve(ctx, h.InProcess(t, "a"), talk(1), quick) }()
	u, err := b.GetUpdates(ctx, &parley.GetUpdatesParams{ConversationID: last, Until: parley.UntilClosed, TimeoutMs: 15_000})
	if err != nil || u.Status != parley.StatusClosed {
		t.Errorf("the last conversation: %+v, %v", u, err)
	}
	cancel()
	<-ended
}

// TestServeChooses: Accept leaves conversations out.
func TestServeChooses(t *testing.T) {
	h := sdktest.NewHub(t)
	no, yes := h.Create(t, "a", "b"), h.Create(t, "a", "b")
	o := *quick
	o.Accept = func(c parley.ConversationSummary) bool { return c.ConversationID == yes }
	ctx, cancel := context.WithCancel(within(t))
	ended := make(chan error, 1)
	c := h.InProcess(t, "a")
	go func() { ended <- executors.Serve(ctx, c, talk(1), &o) }()
	if _, err := c.GetUpdates(ctx, &parley.GetUpdatesParams{ConversationID: yes, Until: parley.UntilClosed, TimeoutMs: 20_000}); err != nil {
		t.Fatal(err)
	}
	cancel()
	<-ended
	if got := said(t, c, no); len(got) != 0 {
		t.Errorf("said %q where it was not accepted", got)
	}
	if got := said(t, c, yes); len(got) != 1 {
		t.Errorf("said %q where it was accepted", got)
	}
}
