package a2a

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// opsRequirement is a requirement of specification 1.0 (section 3) on operations, with the id of
// the conformance kit.
type opsRequirement struct {
	id    string
	level string
	what  string
	test  func(t *testing.T, w *opsWorld, c *caller)
}

// opsRequirements are the mandatory ones. Another table has those of bindings, versions, errors and
// the card.
var opsRequirements = []opsRequirement{
	{"CORE-SEND-001", "MUST", "SendMessage answers with a task or a message", func(t *testing.T, w *opsWorld, c *caller) {
		opsState(t, w.send(c, opsRequest("m1", "hello")), a2a.TaskStateCompleted)
		r, err := w.s.send(t.Context(), c, opsRequest("m2", "bare"))
		if _, ok := r.(*a2a.Message); !ok {
			t.Errorf("%T, %v", r, err)
		}
	}},
	{"CORE-SEND-002", "MUST", "a message to a finished task is UnsupportedOperation", func(t *testing.T, w *opsWorld,
		c *caller) {
		for _, say := range []string{"hello", "fail", "reject"} {
			done := w.send(c, opsRequest("m-"+say, say))
			_, err := w.s.send(t.Context(), c, opsAt("more-"+say, "x", "", done.ID))
			opsRefused(t, say, err, a2a.ErrUnsupportedOperation)
		}
	}},
	{"CORE-SEND-003", "MUST", "a media type that the agent does not take is ContentTypeNotSupported",
		func(t *testing.T, w *opsWorld, c *caller) {
			picky := *c.agent
			picky.InputModes = []string{"text/plain"}
			req := opsRequest("m1", "")
			p := a2a.NewRawPart([]byte("tck"))
			p.MediaType = "application/x-unsupported-tck-type"
			req.Message.Parts = a2a.ContentParts{p}
			_, err := w.s.send(t.Context(), &caller{client: c.client, agent: &picky}, req)
			opsRefused(t, "send", err, a2a.ErrUnsupportedContentType)
		}},
	{"CORE-STREAM-001", "MUST", "SendStreamingMessage streams what happens", func(t *testing.T, w *opsWorld, c *caller) {
		s := w.hear(w.s.stream(t.Context(), c, opsRequest("m1", "hold st1")))
		s.until("working") // before its end
		close(w.gate("st1"))
		s.rest()
	}},
	{"CORE-STREAM-003", "MUST", "a stream begins with the task and closes when it is finished",
		func(t *testing.T, w *opsWorld, c *caller) {
			for _, say := range []string{"hello", "fail", "reject", "pass", "close"} {
				all := w.hear(w.s.stream(t.Context(), c, opsRequest("m-"+say, say))).rest()
				if _, ok := all[0].event.(*a2a.Task); !ok {
					t.Errorf("%s: it begins with %T", say, all[0].event)
				}
				for _, u := range all[1:] {
					if _, again := u.event.(*a2a.Task); again {
						t.Errorf("%s: another task in the stream", say)
					}
				}
				states := opsStates(all)
				if at := slices.IndexFunc(states, a2a.TaskState.Terminal); at != len(states)-1 {
					t.Errorf("%s: %v", say, states)
				}
			}
		}},
	{"CORE-GET-001", "MUST", "GetTask returns the current state, with artifacts and history",
		func(t *testing.T, w *opsWorld, c *caller) {
			task := w.get(c, w.send(c, opsRequest("m1", "hello")).ID)
			if task.Status.Timestamp == nil || len(task.Artifacts) == 0 || len(task.History) == 0 || task.ContextID == "" {
				t.Errorf("%+v", task)
			}
		}},
	{"CORE-GET-002", "MUST", "GetTask of no task is TaskNotFound", func(t *testing.T, w *opsWorld, c *caller) {
		_, err := w.s.get(t.Context(), c, &a2a.GetTaskRequest{ID: "nonexistent"})
		opsRefused(t, "get", err, a2a.ErrTaskNotFound)
	}},
	{"CORE-LIST-001", "MUST", "ListTasks returns only the tasks of the caller", func(t *testing.T, w *opsWorld, c *caller) {
		w.send(w.caller("bob"), opsRequest("m1", "hello"))
		if got := w.list(c, &a2a.ListTasksRequest{}); got.TotalSize != 0 {
			t.Errorf("%v", opsIDs(got.Tasks))
		}
	}},
	{"CORE-LIST-002", "MUST", "ListTasks pages by cursor", func(t *testing.T, w *opsWorld, c *caller) {
		w.send(c, opsRequest("m1", "hello"))
		older := w.send(c, opsRequest("m2", "hello"))
		first := w.list(c, &a2a.ListTasksRequest{PageSize: 1})
		w.send(c, opsRequest("m3", "hello")) // newer than both: an offset would repeat the first
		second := w.list(c, &a2a.ListTasksRequest{PageSize: 1, PageToken: first.NextPageToken})
		if first.NextPageToken == "" || len(second.Tasks) != 1 || second.Tasks[0].ID == first.Tasks[0].ID {
			t.Errorf("%v, %v behind %s", opsIDs(first.Tasks), opsIDs(second.Tasks), older.ID)
		}
	}},
	{"CORE-LIST-003", "MUST", "ListTasks has the last that changed first", func(t *testing.T, w *opsWorld, c *caller) {
		asks := w.send(c, opsRequest("m1", "ask"))
		last := w.send(c, opsRequest("m2", "hello")).Status.Timestamp
		for now := *last; !now.After(*last); { // timestamps have milliseconds
			var err error
			if now, err = c.client.Now(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		w.send(c, opsAt("m3", "hello", "", asks.ID))
		if got := w.list(c, &a2a.ListTasksRequest{}); got.Tasks[0].ID != asks.ID {
			t.Errorf("%v", opsIDs(got.Tasks))
		}
	}},
	{"CORE-LIST-004", "MUST", "nextPageToken is empty on the last page", func(t *testing.T, w *opsWorld, c *caller) {
		w.send(c, opsRequest("m1", "hello"))
		if got := w.list(c, &a2a.ListTasksRequest{PageSize: 1}); got.NextPageToken != "" || got.Tasks == nil {
			t.Errorf("%+v", got)
		}
	}},
	{"CORE-LIST-005", "MUST", "ListTasks leaves artifacts out unless they are asked for", func(t *testing.T, w *opsWorld,
		c *caller) {
		w.send(c, opsRequest("m1", "hello"))
		without, with := w.list(c, &a2a.ListTasksRequest{}), w.list(c, &a2a.ListTasksRequest{IncludeArtifacts: true})
		if without.Tasks[0].Artifacts != nil || len(with.Tasks[0].Artifacts) != 1 {
			t.Errorf("%v, %v", without.Tasks[0].Artifacts, with.Tasks[0].Artifacts)
		}
	}},
	{"CORE-CANCEL-001", "MUST", "CancelTask returns the canceled task", func(t *testing.T, w *opsWorld, c *caller) {
		task := w.send(c, opsRequest("m1", "ask"))
		got, err := w.cancel(c, task.ID)
		if err != nil {
			t.Fatal(err)
		}
		opsState(t, got, a2a.TaskStateCanceled)
	}},
	{"CORE-CANCEL-002", "MUST", "CancelTask of a finished task is TaskNotCancelable", func(t *testing.T, w *opsWorld,
		c *caller) {
		for _, say := range []string{"hello", "fail", "ask"} {
			task := w.send(c, opsRequest("m-"+say, say))
			_, _ = w.cancel(c, task.ID)
			_, err := w.cancel(c, task.ID)
			opsRefused(t, say, err, a2a.ErrTaskNotCancelable)
		}
	}},
	{"CORE-CANCEL-003", "MUST", "CancelTask of no task is TaskNotFound", func(t *testing.T, w *opsWorld, c *caller) {
		_, err := w.cancel(c, "nonexistent")
		opsRefused(t, "cancel", err, a2a.ErrTaskNotFound)
	}},
	{"CORE-EXECUTION-MODE-001", "MUST", "SendMessage waits until the task is finished or waits for its caller",
		func(t *testing.T, w *opsWorld, c *caller) {
			opsState(t, w.send(c, opsRequest("m1", "hello")), a2a.TaskStateCompleted)
			opsState(t, w.send(c, opsRequest("m2", "ask")), a2a.TaskStateInputRequired)
			opsState(t, w.send(c, opsRequest("m3", "auth")), a2a.TaskStateAuthRequired)
		}},
	{"CORE-EXECUTION-MODE-002", "MUST", "SendMessage with returnImmediately does not", func(t *testing.T, w *opsWorld,
		c *caller) {
		task := w.send(c, opsAtOnce(opsRequest("m1", "hold once")))
		close(w.gate("once"))
		if settled(task.Status.State) {
			t.Errorf("it is %s", task.Status.State)
		}
	}},
	{"CORE-HIST-001", "SHOULD", "historyLength 0 returns no history, n the last n, unset all up to a bound",
		func(t *testing.T, w *opsWorld, c *caller) {
			task := w.send(c, opsRequest("m1", "ask"))
			w.send(c, opsAt("m2", "hello", "", task.ID))
			for length, want := range map[int]int{0: 0, 1: 1, 2: 2, 50: 3} {
				got, err := w.s.get(t.Context(), c, &a2a.GetTaskRequest{ID: task.ID, HistoryLength: &length})
				if err != nil || len(got.History) != want {
					t.Errorf("historyLength %d: %d messages, %v", length, len(got.History), err)
				}
			}
			if got := w.get(c, task.ID); len(got.History) != 3 {
				t.Errorf("unset: %d messages", len(got.History))
			}
		}},
	{"CORE-MULTI-001a", "MUST", "a missing contextId is created and returned", func(t *testing.T, w *opsWorld,
		c *caller) {
		one, two := w.send(c, opsRequest("m1", "hello")), w.send(c, opsRequest("m2", "hello"))
		if one.ContextID == "" || one.ContextID == two.ContextID {
			t.Errorf("%q, %q", one.ContextID, two.ContextID)
		}
	}},
	{"CORE-MULTI-001", "MAY", "a contextId is made where none is given", func(t *testing.T, w *opsWorld, c *caller) {
		if task := w.send(c, opsRequest("m1", "hello")); !isHubID(task.ContextID) {
			t.Errorf("%q", task.ContextID)
		}
	}},
	{"CORE-MULTI-002", "MAY", "a contextId that is given is kept", func(t *testing.T, w *opsWorld, c *caller) {
		if task := w.send(c, opsAt("m1", "hello", "mine", "")); task.ContextID != "mine" ||
			task.History[0].ContextID != "mine" {
			t.Errorf("%q", task.ContextID)
		}
	}},
	{"CORE-MULTI-005", "MUST", "the contextId is that of the task where only that is given",
		func(t *testing.T, w *opsWorld, c *caller) {
			task := w.send(c, opsAt("m1", "ask", "mine", ""))
			if more := w.send(c, opsAt("m2", "hello", "", task.ID)); more.ContextID != "mine" || more.ID != task.ID {
				t.Errorf("%s in %s", more.ID, more.ContextID)
			}
		}},
	{"CORE-MULTI-006", "MUST", "a contextId that is not that of the task is refused", func(t *testing.T, w *opsWorld,
		c *caller) {
		task := w.send(c, opsAt("m1", "ask", "mine", ""))
		_, err := w.s.send(t.Context(), c, opsAt("m2", "hello", "other", task.ID))
		opsRefused(t, "send", err, a2a.ErrInvalidParams)
	}},
	{"CORE-MULTI-004", "MUST", "a taskId that the client created is TaskNotFound", func(t *testing.T, w *opsWorld,
		c *caller) {
		_, err := w.s.send(t.Context(), c, opsAt("m1", "hello", "", "6f0a3b1e-made-by-the-client"))
		opsRefused(t, "send", err, a2a.ErrTaskNotFound)
	}},
	{"AUTH-INTASK-005", "SHOULD", "a stream of a task that is AUTH_REQUIRED continues", func(t *testing.T, w *opsWorld,
		c *caller) {
		s := w.hear(w.s.stream(t.Context(), c, opsRequest("m1", "auth")))
		s.until("auth")
		w.send(c, opsAt("m2", "hello", "", s.all[0].event.TaskInfo().TaskID))
		states := opsStates(s.rest())
		if !slices.Contains(states, a2a.TaskStateAuthRequired) || states[len(states)-1] != a2a.TaskStateCompleted {
			t.Errorf("%v", states)
		}
	}},
	{"STREAM-ORDER-001", "MUST", "updates come in the order in which they were made", func(t *testing.T, w *opsWorld,
		c *caller) {
		all := w.hear(w.s.stream(t.Context(), c, opsRequest("m1", "hello"))).rest()
		last := cursor{}
		for i, u := range all {
			at, err := parseCursor(u.id)
			if err != nil || i > 0 && (at.seq < last.seq || at.seq == last.seq && (last.n == 0 || at.n != 0 && at.n <= last.n)) {
				t.Errorf("%s after %s", u.id, last)
			}
			last = *at
		}
	}},
	{"STREAM-ORDER-002", "MUST", "all streams of a task have all of its updates", opsManyStreams},
	{"STREAM-ORDER-003", "MUST", "all streams of a task have its updates in the same order", opsManyStreams},
	{"STREAM-ORDER-004", "MUST", "a stream that ends leaves the others as they are", func(t *testing.T, w *opsWorld,
		c *caller) {
		task := w.send(c, opsAtOnce(opsRequest("m1", "hold st4")))
		stays, goes := w.subscribe(c, task.ID, "1"), w.subscribe(c, task.ID, "1")
		stays.one()
		goes.one()
		goes.stop()
		close(w.gate("st4"))
		states := opsStates(stays.rest())
		if states[len(states)-1] != a2a.TaskStateCompleted {
			t.Errorf("%v", states)
		}
	}},
	{"STREAM-SUB-001", "MUST", "SubscribeToTask begins with the task as it is", func(t *testing.T, w *opsWorld,
		c *caller) {
		task := w.send(c, opsRequest("m1", "ask"))
		if first, ok := w.subscribe(c, task.ID, "").one().event.(*a2a.Task); !ok ||
			first.Status.State != a2a.TaskStateInputRequired {
			t.Errorf("%+v", first)
		}
	}},
	{"STREAM-SUB-002", "MUST", "SubscribeToTask ends when the task is finished", func(t *testing.T, w *opsWorld, c *caller) {
		task := w.send(c, opsRequest("m1", "ask"))
		s := w.subscribe(c, task.ID, "")
		s.one()
		if _, err := w.cancel(c, task.ID); err != nil {
			t.Fatal(err)
		}
		states := opsStates(s.rest())
		if states[len(states)-1] != a2a.TaskStateCanceled {
			t.Errorf("%v", states)
		}
	}},
	{"STREAM-SUB-003", "MUST", "SubscribeToTask of a finished task is UnsupportedOperation",
		func(t *testing.T, w *opsWorld, c *caller) {
			task := w.send(c, opsRequest("m1", "hello"))
			opsRefused(t, "subscribe", w.subscribe(c, task.ID, "").err(), a2a.ErrUnsupportedOperation)
		}},
	{"STREAM-SUB-004", "MUST", "SubscribeToTask of no task is TaskNotFound", func(t *testing.T, w *opsWorld, c *caller) {
		opsRefused(t, "subscribe", w.subscribe(c, "nonexistent", "").err(), a2a.ErrTaskNotFound)
	}},
	{"CORE-CAP-001", "MUST", "a push configuration where none is offered is PushNotificationNotSupported",
		func(t *testing.T, w *opsWorld, c *caller) {
			req := opsRequest("m1", "hello")
			req.Config = &a2a.SendMessageConfig{PushConfig: &a2a.PushConfig{URL: "https://example.com/hook"}}
			_, err := w.s.send(t.Context(), c, req)
			opsRefused(t, "send", err, a2a.ErrPushNotificationNotSupported)
		}},
}

// opsManyStreams reads one task with several streams that begin at different times.
func opsManyStreams(t *testing.T, w *opsWorld, c *caller) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	sent := w.hear(w.s.stream(ctx, c, opsRequest("m1", "hold many")))
	first := sent.one()
	var all []iter.Seq2[update, error]
	for range 3 {
		all = append(all, w.s.subscribe(ctx, c, &a2a.SubscribeToTaskRequest{ID: first.event.TaskInfo().TaskID}, first.id))
	}
	early := w.hear(all[0])
	early.one()
	sent.until("working")
	late := w.hear(all[1])
	late.one()
	close(w.gate("many"))
	want := sent.rest()
	opsSame(t, "an early one", early.rest(), want)
	opsSame(t, "a late one", late.rest(), want)
	opsSame(t, "one after the end", w.hear(all[2]).rest(), want)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		t.Error("it took too long")
	}
}

// TestOperationRequirements checks the methods against the specification.
func TestOperationRequirements(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range opsRequirements {
		if seen[r.id] {
			t.Errorf("%s is a duplicate", r.id)
		}
		seen[r.id] = true
		t.Run(r.id, func(t *testing.T) {
			w := newOpsWorld(t)
			r.test(t, w, w.caller("alice"))
		})
	}
}
