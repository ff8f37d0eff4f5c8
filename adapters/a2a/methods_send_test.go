package a2a

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

func TestSendAndGet(t *testing.T) {
	w := newOpsWorld(t)
	alice := w.caller("alice")
	task := w.send(alice, opsRequest("m1", "hello"))
	opsState(t, task, a2a.TaskStateCompleted)
	if got := opsText(task.Status.Message); got != "bot: hello" {
		t.Errorf("status.message is %q", got)
	}
	if len(task.Artifacts) != 1 || task.Artifacts[0].Parts[0].Text() != "bot: hello" {
		t.Errorf("artifacts are %+v", task.Artifacts)
	}
	if len(task.History) != 1 || task.History[0].ID != "m1" || task.History[0].Role != a2a.MessageRoleUser {
		t.Errorf("history is %+v", task.History)
	}
	conversation, _, ok := splitTask(task.ID)
	if !ok || task.ContextID != conversation {
		t.Errorf("task %s is in context %s", task.ID, task.ContextID)
	}
	got := w.get(alice, task.ID)
	if got.Status.State != task.Status.State || len(got.Artifacts) != 1 {
		t.Errorf("get gives %+v", got)
	}
	more := w.send(alice, opsAt("m2", "again", task.ContextID, ""))
	if more.ContextID != task.ContextID || more.ID == task.ID {
		t.Errorf("the second task of the context is %s in %s", more.ID, more.ContextID)
	}
}

// A repeated messageId is one message, whatever the first one began.
func TestSendTwicePostsOnce(t *testing.T) {
	w := newOpsWorld(t)
	alice := w.caller("alice")
	for _, c := range []struct{ name, context string }{{"no context", ""}, {"own context", "my own: context"}} {
		t.Run(c.name, func(t *testing.T) {
			first := w.send(alice, opsAt("m-"+c.name, "hello", c.context, ""))
			head := w.head(first.ID)
			for range 2 {
				again := w.send(alice, opsAt("m-"+c.name, "hello", c.context, ""))
				if again.ID != first.ID || again.ContextID != first.ContextID {
					t.Errorf("again: task %s in %s, not %s in %s", again.ID, again.ContextID, first.ID, first.ContextID)
				}
			}
			if now := w.head(first.ID); now != head {
				t.Errorf("the log has grown from %d to %d", head, now)
			}
			_, err := w.s.send(t.Context(), alice, opsAt("m-"+c.name, "other", c.context, ""))
			opsRefused(t, "other content", err, a2a.ErrInvalidParams)
			if c.context != "" && first.ContextID != c.context {
				t.Errorf("contextId is %q", first.ContextID)
			}
		})
	}
	t.Run("a closed context", func(t *testing.T) {
		first := w.send(alice, opsRequest("m-close", "close"))
		opsState(t, first, a2a.TaskStateCompleted)
		if again := w.send(alice, opsRequest("m-close", "close")); again.ID != first.ID {
			t.Errorf("again: %s, not %s", again.ID, first.ID)
		}
		_, err := w.s.send(t.Context(), alice, opsAt("m-after", "more", first.ContextID, ""))
		opsRefused(t, "a message into a closed context", err, parley.ErrConversationClosed)
	})
}

// The adapter ends after it created a conversation, and before it posted the message for it.
func TestSendResumesAfterCrash(t *testing.T) {
	w := newOpsWorld(t)
	alice := w.caller("alice")
	p, err := w.s.findOrCreateContext(t.Context(), alice, opsRequest("m1", "hello").Message)
	if err != nil {
		t.Fatal(err)
	}
	w.s.service.places = nil // another process
	task := w.send(alice, opsRequest("m1", "hello"))
	if conversation, _, _ := splitTask(task.ID); conversation != p.conversation {
		t.Errorf("the task is in %s, not in %s", conversation, p.conversation)
	}
	opsState(t, task, a2a.TaskStateCompleted)
}

func TestSendRefusals(t *testing.T) {
	w := newOpsWorld(t, Agent{Name: "bot", Speaks: "bot", InputModes: []string{"text/plain", "image/*"}})
	alice, bob := w.caller("alice"), w.caller("bob")
	done := w.send(alice, opsRequest("done", "hello"))
	own := w.send(alice, opsAt("own", "hello", "mine", ""))
	held := w.send(alice, opsAtOnce(opsRequest("held", "hold x")))
	part := func(p *a2a.Part) *a2a.SendMessageRequest {
		req := opsRequest("m", "x")
		req.Message.Parts = a2a.ContentParts{p}
		return req
	}
	role := opsRequest("m", "x")
	role.Message.Role = a2a.MessageRoleAgent
	negative := opsRequest("m", "x")
	negative.Config = &a2a.SendMessageConfig{HistoryLength: new(int)}
	*negative.Config.HistoryLength = -1
	pushed := opsRequest("m", "x")
	pushed.Config = &a2a.SendMessageConfig{PushConfig: &a2a.PushConfig{URL: "https://example.com"}}
	bare := a2a.NewRawPart([]byte("x"))
	image := a2a.NewRawPart([]byte("x"))
	image.MediaType = "application/pdf"
	for _, c := range []struct {
		name string
		as   *caller
		req  *a2a.SendMessageRequest
		want error
	}{
		{"no message", alice, &a2a.SendMessageRequest{}, a2a.ErrInvalidParams},
		{"no messageId", alice, opsRequest("", "x"), a2a.ErrInvalidParams},
		{"a long messageId", alice, opsRequest(strings.Repeat("x", maxID+1), "x"), a2a.ErrInvalidParams},
		{"a long contextId", alice, opsAt("m", "x", strings.Repeat("x", maxID+1), ""), a2a.ErrInvalidParams},
		{"no parts", alice, &a2a.SendMessageRequest{Message: &a2a.Message{ID: "m", Role: a2a.MessageRoleUser}},
			a2a.ErrInvalidParams},
		{"role agent", alice, role, a2a.ErrInvalidParams},
		{"negative historyLength", alice, negative, a2a.ErrInvalidParams},
		{"push that is not offered", alice, pushed, a2a.ErrPushNotificationNotSupported},
		{"data to who takes none", alice, part(a2a.NewDataPart(map[string]any{"a": 1})), a2a.ErrUnsupportedContentType},
		{"a file of no type", alice, part(bare), a2a.ErrUnsupportedContentType},
		{"a file of another type", alice, part(image), a2a.ErrUnsupportedContentType},
		{"a task that never was", alice, opsAt("m", "x", "", "cnv_aaaaaaaaaaaaaaaaaaaaaaaa.2"), a2a.ErrTaskNotFound},
		{"a task that is no id", alice, opsAt("m", "x", "", "nonsense"), a2a.ErrTaskNotFound},
		{"a seq that begins no task", alice, opsAt("m", "x", "", a2a.TaskID(done.ContextID+".1")), a2a.ErrTaskNotFound},
		{"somebody else's task", bob, opsAt("m", "x", "", done.ID), a2a.ErrTaskNotFound},
		{"somebody else's context", bob, opsAt("m", "x", done.ContextID, ""), a2a.ErrTaskNotFound},
		{"a context that the hub never made", alice, opsAt("m", "x", "cnv_nonsense", ""), a2a.ErrTaskNotFound},
		{"task and context apart", alice, opsAt("m", "x", "mine", done.ID), a2a.ErrInvalidParams},
		{"task and context apart, both known", alice, opsAt("m", "x", done.ContextID, own.ID), a2a.ErrInvalidParams},
		{"a task that has ended", alice, opsAt("m", "x", done.ContextID, done.ID), a2a.ErrUnsupportedOperation},
		{"a task that works", alice, opsAt("m", "x", held.ContextID, held.ID), a2a.ErrUnsupportedOperation},
		{"a context whose task works", alice, opsAt("m", "x", held.ContextID, ""), a2a.ErrUnsupportedOperation},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := w.s.send(t.Context(), c.as, c.req)
			opsRefused(t, "send", err, c.want)
			opsRefused(t, "stream", w.hear(w.s.stream(t.Context(), c.as, c.req)).err(), c.want)
		})
	}
	close(w.gate("x"))
	if got := w.list(bob, &a2a.ListTasksRequest{}); len(got.Tasks) != 0 {
		t.Errorf("bob has tasks: %v", got.Tasks)
	}
}

// All errors for missing items have the same words.
func TestNotFoundErrorsAreEqual(t *testing.T) {
	w := newOpsWorld(t)
	alice, bob := w.caller("alice"), w.caller("bob")
	task := w.send(alice, opsRequest("m1", "hello"))
	var words []string
	for _, c := range []struct {
		as *caller
		id a2a.TaskID
	}{
		{bob, task.ID}, {w.callerOf("alice", "room"), task.ID}, {alice, "x"}, {alice, ""},
		{alice, "cnv_aaaaaaaaaaaaaaaaaaaaaaaa.2"},
		{alice, a2a.TaskID(task.ContextID + ".999")}, {alice, task.ID + ".1"},
		{alice, a2a.TaskID(task.ContextID + ".0" + strings.TrimPrefix(string(task.ID), task.ContextID+"."))},
		{alice, "~runners.1"}, {alice, "../x.1"},
	} {
		_, err1 := w.s.get(t.Context(), c.as, &a2a.GetTaskRequest{ID: c.id})
		_, err2 := w.s.cancel(t.Context(), c.as, &a2a.CancelTaskRequest{ID: c.id})
		err3 := w.hear(w.s.subscribe(t.Context(), c.as, &a2a.SubscribeToTaskRequest{ID: c.id}, "")).err()
		err4 := w.hear(w.s.subscribe(t.Context(), c.as, &a2a.SubscribeToTaskRequest{ID: c.id}, "2")).err()
		for _, err := range []error{err1, err2, err3, err4} {
			opsRefused(t, string(c.id), err, a2a.ErrTaskNotFound)
			words = append(words, fmt.Sprint(err))
		}
	}
	for _, word := range words {
		if word != words[0] {
			t.Errorf("%q is told from %q", word, words[0])
		}
	}
}

func TestSendStates(t *testing.T) {
	w := newOpsWorld(t)
	alice := w.caller("alice")
	for _, c := range []struct {
		say  string
		want a2a.TaskState
	}{
		{"ask", a2a.TaskStateInputRequired},
		{"auth", a2a.TaskStateAuthRequired},
		{"fail", a2a.TaskStateFailed},
		{"reject", a2a.TaskStateRejected},
		{"pass", a2a.TaskStateFailed},
		{"close", a2a.TaskStateCompleted},
	} {
		t.Run(c.say, func(t *testing.T) { opsState(t, w.send(alice, opsRequest("m-"+c.say, c.say)), c.want) })
	}
	t.Run("an answer to what was asked", func(t *testing.T) {
		asked := w.send(alice, opsRequest("asked", "ask"))
		done := w.send(alice, opsAt("answer", "42", "", asked.ID))
		if done.ID != asked.ID || done.ContextID != asked.ContextID {
			t.Errorf("the answer is of task %s", done.ID)
		}
		opsState(t, done, a2a.TaskStateCompleted)
		again := w.send(alice, opsAt("answer", "42", "", asked.ID))
		opsState(t, again, a2a.TaskStateCompleted)
	})
	t.Run("another task instead of an answer", func(t *testing.T) {
		asked := w.send(alice, opsRequest("asked2", "ask"))
		other := w.send(alice, opsAt("other2", "x", asked.ContextID, ""))
		opsState(t, other, a2a.TaskStateCompleted)
		opsState(t, w.get(alice, asked.ID), a2a.TaskStateCanceled)
	})
	t.Run("a room", func(t *testing.T) {
		task := w.send(w.callerOf("alice", "room"), opsRequest("r1", "hello"))
		opsState(t, task, a2a.TaskStateInputRequired)
		task = w.send(w.callerOf("alice", "room"), opsAt("r2", "close", task.ContextID, task.ID))
		opsState(t, task, a2a.TaskStateCompleted)
	})
	t.Run("a message and no task", func(t *testing.T) {
		for range 2 {
			r, err := w.s.send(t.Context(), alice, opsRequest("bare", "bare"))
			m, ok := r.(*a2a.Message)
			if err != nil || !ok || opsText(m) != "a word" || m.TaskID != "" || m.ContextID == "" {
				t.Errorf("%+v, %v", r, err)
			}
		}
	})
	t.Run("at once", func(t *testing.T) {
		task := w.send(alice, opsAtOnce(opsRequest("once", "hold once")))
		if task.Status.State.Terminal() {
			t.Errorf("it is %s already", task.Status.State)
		}
		close(w.gate("once"))
		for range w.s.subscribe(t.Context(), alice, &a2a.SubscribeToTaskRequest{ID: task.ID}, "1") {
		}
		opsState(t, w.get(alice, task.ID), a2a.TaskStateCompleted)
	})
}

func TestSendHistory(t *testing.T) {
	w := newOpsWorld(t)
	alice := w.caller("alice")
	task := w.send(alice, opsRequest("m0", "ask"))
	for i := range 3 {
		task = w.send(alice, opsAt(fmt.Sprint("m", i+1), "ask", "", task.ID))
	}
	whole := len(task.History)
	if whole < 6 {
		t.Fatalf("the history has %d messages", whole)
	}
	for _, c := range []struct{ length, want int }{{0, 0}, {1, 1}, {3, 3}, {100, whole}} {
		got, err := w.s.get(t.Context(), alice, &a2a.GetTaskRequest{ID: task.ID, HistoryLength: &c.length})
		if err != nil || len(got.History) != c.want {
			t.Errorf("historyLength %d: %d messages, %v", c.length, len(got.History), err)
		}
		if c.want > 0 && got.History[c.want-1].ID != task.History[whole-1].ID {
			t.Errorf("historyLength %d: the newest is %s", c.length, got.History[c.want-1].ID)
		}
		req := opsAt("m3", "ask", "", task.ID)
		req.Config = &a2a.SendMessageConfig{HistoryLength: &c.length}
		if got := w.send(alice, req); len(got.History) != c.want {
			t.Errorf("send with historyLength %d: %d messages", c.length, len(got.History))
		}
	}
}

// Of several simultaneous messages in one context, one begins a task and the others are refused.
func TestSendRace(t *testing.T) {
	w := newOpsWorld(t, Agent{Name: "bot", Speaks: "bot"}, Agent{Name: "open", Scenario: &Scenario{Seat: "user",
		Params: parley.CreateConversationParams{
			Participants: []parley.Participant{{ID: "user", Kind: parley.KindPeer}, {ID: "bot", Kind: parley.KindAgent}},
			Policy:       &parley.Policy{Kind: parley.PolicyOpen},
		}}})
	for _, agent := range []string{"bot", "open"} {
		t.Run(agent, func(t *testing.T) {
			alice := w.callerOf("alice", agent)
			var wg sync.WaitGroup
			began := make(chan a2a.TaskID, 8)
			for i := range cap(began) {
				wg.Go(func() {
					r, err := w.s.send(t.Context(), alice, opsAtOnce(opsAt(fmt.Sprint("m", i), "hold race-"+agent, "ours", "")))
					if err == nil {
						began <- r.TaskInfo().TaskID
					} else if !errors.Is(err, a2a.ErrUnsupportedOperation) {
						t.Errorf("refused with %v", err)
					}
				})
			}
			wg.Wait()
			close(began)
			if len(began) != 1 {
				t.Errorf("%d tasks began", len(began))
			}
			close(w.gate("race-" + agent))
			for id := range began {
				for range w.s.subscribe(t.Context(), alice, &a2a.SubscribeToTaskRequest{ID: id}, "1") {
				}
			}
			if got := w.list(alice, &a2a.ListTasksRequest{ContextID: "ours"}); got.TotalSize != 1 {
				t.Errorf("the context has %d tasks", got.TotalSize)
			}
		})
	}
}

func TestScenario(t *testing.T) {
	w := newOpsWorld(t, Agent{Name: "desk", Scenario: &Scenario{
		Seat: "user",
		Params: parley.CreateConversationParams{
			Title:        "desk",
			Participants: []parley.Participant{{ID: "user", Kind: parley.KindHuman}, {ID: "bot", Kind: parley.KindAgent}},
			Policy: &parley.Policy{Kind: parley.PolicyRules, Rules: []parley.Rule{{When: `last.from == "user"`,
				Next: "bot"}, {When: `true`, Next: "user"}}},
			StartsWith: "user",
			Limits:     &parley.Limits{StopWhen: `last.from == 'user' && last.text == "enough"`},
		},
	}})
	alice := w.caller("alice")
	task := w.send(alice, opsRequest("m1", "hello"))
	opsState(t, task, a2a.TaskStateCompleted)
	if got := opsText(task.Status.Message); got != "bot: hello" {
		t.Errorf("bot has heard %q", got)
	}
	if again := w.send(alice, opsRequest("m1", "hello")); again.ID != task.ID {
		t.Errorf("again: %s, not %s", again.ID, task.ID)
	}
	task = w.send(alice, opsAt("m2", "more", task.ContextID, ""))
	if got := opsText(task.Status.Message); got != "bot: more" {
		t.Errorf("bot has heard %q", got)
	}
	opsState(t, w.send(alice, opsAt("m3", "enough", task.ContextID, "")), a2a.TaskStateCompleted)
}

func TestScenarioCheck(t *testing.T) {
	seats := []parley.Participant{{ID: "user", Kind: parley.KindPeer}, {ID: "bot", Kind: parley.KindAgent}}
	for _, c := range []struct {
		name string
		sc   Scenario
		ok   bool
	}{
		{"the first speaks", Scenario{Seat: "user", Params: parley.CreateConversationParams{Participants: seats}}, true},
		{"an open one", Scenario{Seat: "user",
			Params: parley.CreateConversationParams{Participants: []parley.Participant{seats[1], seats[0]},
				Policy: &parley.Policy{Kind: parley.PolicyOpen}}}, true},
		{"another speaks first", Scenario{Seat: "user", Params: parley.CreateConversationParams{Participants: seats,
			StartsWith: "bot"}}, false},
		{"another is the first", Scenario{Seat: "user",
			Params: parley.CreateConversationParams{Participants: []parley.Participant{seats[1], seats[0]}}}, false},
		{"another moderates", Scenario{Seat: "user", Params: parley.CreateConversationParams{Participants: seats,
			Policy: &parley.Policy{Kind: parley.PolicyModerator, Moderator: "bot"}}}, false},
		{"no seat", Scenario{Seat: "nobody", Params: parley.CreateConversationParams{Participants: seats}}, false},
		{"an agent's seat", Scenario{Seat: "bot", Params: parley.CreateConversationParams{Participants: seats,
			StartsWith: "bot"}}, false},
		{"a key", Scenario{Seat: "user", Params: parley.CreateConversationParams{Participants: seats, ClientRequestID: "x"}},
			false},
	} {
		if err := c.sc.check(); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// Two messages are based on the same state of the log.
func TestSendAtSamePosition(t *testing.T) {
	w := newOpsWorld(t, Agent{Name: "nobody", Scenario: &Scenario{Seat: "user", Params: parley.CreateConversationParams{
		Participants: []parley.Participant{{ID: "user", Kind: parley.KindPeer}, {ID: "nobody", Kind: parley.KindAgent}},
		Policy:       &parley.Policy{Kind: parley.PolicyOpen},
	}}})
	alice := w.caller("alice")
	one, two := opsAt("m1", "one", "ours", ""), opsAt("m2", "two", "ours", "")
	p, err := w.s.findOrCreateContext(t.Context(), alice, one.Message)
	if err != nil {
		t.Fatal(err)
	}
	at, err := w.s.positionOf(t.Context(), alice, p, one.Message)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.s.post(t.Context(), alice, p, at, one); err != nil {
		t.Fatal(err)
	}
	_, err = w.s.post(t.Context(), alice, p, at, two)
	opsRefused(t, "the second", explainRefusal(err), a2a.ErrUnsupportedOperation)
}
