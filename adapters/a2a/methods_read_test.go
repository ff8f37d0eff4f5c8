package a2a

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

func opsIDs(tasks []*a2a.Task) (ids []a2a.TaskID) {
	for _, t := range tasks {
		ids = append(ids, t.ID)
	}
	return ids
}

func TestList(t *testing.T) {
	w := newOpsWorld(t)
	alice := w.caller("alice")
	var made []a2a.TaskID
	for i := range 7 {
		made = append(made, w.send(alice, opsRequest(fmt.Sprint("m", i), "hello")).ID)
	}
	made = append(made, w.send(alice, opsAt("mine1", "hello", "mine", "")).ID,
		w.send(alice, opsAt("mine2", "ask", "mine", "")).ID)
	w.send(w.callerOf("alice", "room"), opsRequest("elsewhere", "hello"))
	w.send(w.caller("bob"), opsRequest("bob's", "hello"))
	if _, err := w.h.Admin(t).CreateConversation(t.Context(),
		&parley.CreateConversationParams{Participants: []parley.Participant{{ID: "alice",
			Kind: parley.KindPeer}}}); err != nil {
		t.Fatal(err)
	}

	all := w.list(alice, &a2a.ListTasksRequest{})
	if all.TotalSize != len(made) || all.PageSize != defaultPage || all.NextPageToken != "" {
		t.Errorf("%d tasks, page %d, token %q", all.TotalSize, all.PageSize, all.NextPageToken)
	}
	for i, task := range all.Tasks {
		if task.Artifacts != nil {
			t.Errorf("%s has artifacts", task.ID)
		}
		if i > 0 && task.Status.Timestamp.After(*all.Tasks[i-1].Status.Timestamp) {
			t.Errorf("%s is newer than the one before", task.ID)
		}
	}
	for _, id := range made {
		if !slices.Contains(opsIDs(all.Tasks), id) {
			t.Errorf("%s is missing", id)
		}
	}
	for _, size := range []int{1, 2, 4, 9, 100} {
		var got []a2a.TaskID
		token := ""
		for {
			page := w.list(alice, &a2a.ListTasksRequest{PageSize: size, PageToken: token})
			if page.TotalSize != len(made) || page.PageSize != size || len(page.Tasks) > size {
				t.Errorf("page of %d: %d of %d", size, len(page.Tasks), page.TotalSize)
			}
			got = append(got, opsIDs(page.Tasks)...)
			if token = page.NextPageToken; token == "" {
				break
			}
		}
		if !slices.Equal(got, opsIDs(all.Tasks)) {
			t.Errorf("pages of %d: %v", size, got)
		}
	}
	mine := w.list(alice, &a2a.ListTasksRequest{ContextID: "mine", IncludeArtifacts: true})
	artifacts := 0
	for _, task := range mine.Tasks { // tasks of the same millisecond have no order
		artifacts += len(task.Artifacts)
	}
	if mine.TotalSize != 2 || artifacts != 1 {
		t.Errorf("mine: %+v", mine)
	}
	asks := w.list(alice, &a2a.ListTasksRequest{Status: a2a.TaskStateInputRequired})
	if asks.TotalSize != 1 || asks.Tasks[0].ID != made[len(made)-1] {
		t.Errorf("those that ask: %v", opsIDs(asks.Tasks))
	}
	newest := *all.Tasks[0].Status.Timestamp
	if got := w.list(alice, &a2a.ListTasksRequest{StatusTimestampAfter: &newest}); got.TotalSize < 1 ||
		got.Tasks[0].ID != all.Tasks[0].ID {
		t.Errorf("since the newest: %v", opsIDs(got.Tasks))
	}
	later := newest.Add(time.Hour)
	if got := w.list(alice, &a2a.ListTasksRequest{StatusTimestampAfter: &later}); got.TotalSize != 0 || got.Tasks == nil {
		t.Errorf("of the future: %v", got.Tasks)
	}
	none := 0
	for _, task := range w.list(alice, &a2a.ListTasksRequest{HistoryLength: &none}).Tasks {
		if task.History != nil {
			t.Errorf("%s has a history", task.ID)
		}
	}
}

// A list request for missing contexts creates nothing.
func TestListCreatesNothing(t *testing.T) {
	w := newOpsWorld(t)
	alice, bob := w.caller("alice"), w.caller("bob")
	theirs := w.send(bob, opsAt("m1", "hello", "bob's", ""))
	conversation, _, _ := splitTask(theirs.ID)
	for _, id := range []string{"nothing", "bob's", conversation, "cnv_x", "ses_x", "~runners"} {
		if got := w.list(alice, &a2a.ListTasksRequest{ContextID: id}); got.TotalSize != 0 {
			t.Errorf("%s: %v", id, opsIDs(got.Tasks))
		}
	}
	got, err := alice.client.ListConversations(t.Context(), &parley.ListConversationsParams{})
	if err != nil || len(got.Conversations) != 0 {
		t.Errorf("there are %v, %v", got, err)
	}
	for _, req := range []*a2a.ListTasksRequest{{PageSize: 101}, {PageSize: -1}, {PageToken: "x"}, {PageToken: "e30"},
		{HistoryLength: func() *int { n := -1; return &n }()}} {
		_, err := w.s.list(t.Context(), alice, req)
		opsRefused(t, fmt.Sprint(*req), err, a2a.ErrInvalidParams)
	}
}

// Two callers in one conversation cannot see, cancel, stream or list the tasks of each other.
func TestCallersAreIsolated(t *testing.T) {
	w := newOpsWorld(t)
	alice, bob := w.caller("alice"), w.caller("bob")
	conversation, err := w.h.Admin(t).CreateConversation(t.Context(), &parley.CreateConversationParams{
		Participants: []parley.Participant{{ID: "alice", Kind: parley.KindPeer}, {ID: "bob", Kind: parley.KindPeer},
			{ID: "bot", Kind: parley.KindAgent}},
		Policy:     &parley.Policy{Kind: parley.PolicyModerator, Moderator: "bot"},
		StartsWith: "alice", Metadata: []byte(`{"a2a":{"agent":"bot","contextId":"ours"}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	p, err := w.s.locate(t.Context(), alice, conversation.ConversationID)
	if err != nil {
		t.Fatal(err)
	}
	say := func(c *caller, id string) *sentMessage {
		at, err := w.s.append(t.Context(), c, opsAt(id, "hold owners", p.conversation, ""))
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	theirs := say(alice, "m1")
	defer close(w.gate("owners"))
	for _, c := range []*caller{bob, w.caller("carol")} {
		_, err := w.s.get(t.Context(), c, &a2a.GetTaskRequest{ID: theirs.task})
		opsRefused(t, "get", err, a2a.ErrTaskNotFound)
		_, err = w.s.cancel(t.Context(), c, &a2a.CancelTaskRequest{ID: theirs.task})
		opsRefused(t, "cancel", err, a2a.ErrTaskNotFound)
		opsRefused(t, "subscribe", w.subscribe(c, theirs.task, "").err(), a2a.ErrTaskNotFound)
		opsRefused(t, "subscribe behind a cursor", w.subscribe(c, theirs.task, "1").err(), a2a.ErrTaskNotFound)
		_, err = w.s.send(t.Context(), c, opsAt("x", "x", "", theirs.task))
		opsRefused(t, "send", err, a2a.ErrTaskNotFound)
		if got := w.list(c, &a2a.ListTasksRequest{}); got.TotalSize != 0 {
			t.Errorf("list: %v", opsIDs(got.Tasks))
		}
		if got := w.list(c, &a2a.ListTasksRequest{ContextID: p.conversation}); got.TotalSize != 0 {
			t.Errorf("list of the context: %v", opsIDs(got.Tasks))
		}
	}
	if state := w.get(alice, theirs.task).Status.State; state.Terminal() {
		t.Errorf("it is %s", state)
	}
	if got := w.list(alice, &a2a.ListTasksRequest{}); got.TotalSize != 1 || got.Tasks[0].ContextID != "ours" {
		t.Errorf("alice: %v", got.Tasks)
	}
}

// More conversations than the cache keeps return the same tasks.
func TestCacheIsBounded(t *testing.T) {
	var s service
	for i := range 3 * maxFolds {
		b := s.acquire(foldKey{fmt.Sprint(i), "alice"})
		s.release(b, 100<<10)
	}
	if s.recent.Len() > maxFolds || s.bytes > maxFoldBytes || len(s.folds) != s.recent.Len() {
		t.Errorf("%d books, %d bytes, %d keys", s.recent.Len(), s.bytes, len(s.folds))
	}
	held := s.acquire(foldKey{"held", "alice"})
	for i := range 2 * maxFolds {
		s.release(s.acquire(foldKey{fmt.Sprint("more", i), "alice"}), 1)
	}
	if s.folds[held.key] == nil {
		t.Error("a book that is lent was dropped")
	}
	s.release(held, 2*maxFoldBytes)
	if s.bytes > maxFoldBytes {
		t.Errorf("%d bytes", s.bytes)
	}
}

// Data that was cached for a caller is not returned after its access ended.
func TestCacheKeepsNoAccess(t *testing.T) {
	w := newOpsWorld(t)
	token, err := w.h.Admin(t).CreateToken(t.Context(), &parley.CreateTokenParams{AgentID: "alice",
		Scopes: parley.DefaultScopes})
	if err != nil {
		t.Fatal(err)
	}
	alice := &caller{client: w.h.InProcessWith(t, token.Token), agent: w.s.agent("bot")}
	task := w.send(alice, opsRequest("m1", "hello"))
	w.get(alice, task.ID)
	if _, err := w.h.Admin(t).RevokeToken(t.Context(), &parley.RevokeTokenParams{TokenID: token.TokenID}); err != nil {
		t.Fatal(err)
	}
	_, err = w.s.get(t.Context(), alice, &a2a.GetTaskRequest{ID: task.ID})
	opsRefused(t, "get", err, parley.ErrUnauthenticated)
	narrow, err := w.h.Admin(t).CreateToken(t.Context(), &parley.CreateTokenParams{AgentID: "alice",
		Scopes: parley.DefaultScopes, Conversations: []string{"other"}})
	if err != nil {
		t.Fatal(err)
	}
	alice.client = w.h.InProcessWith(t, narrow.Token)
	_, err = w.s.get(t.Context(), alice, &a2a.GetTaskRequest{ID: task.ID})
	opsRefused(t, "get", err, a2a.ErrTaskNotFound)
}

// The floor that is derived from a log equals that of the hub.
func TestPastFloorMatchesHub(t *testing.T) {
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	open := &Scenario{Seat: "user", Params: parley.CreateConversationParams{
		Participants: []parley.Participant{{ID: "user", Kind: parley.KindPeer}, {ID: "bot", Kind: parley.KindAgent}},
		Policy:       &parley.Policy{Kind: parley.PolicyOpen},
	}}
	w := newOpsWorld(t, Agent{Name: "bot", Speaks: "bot"}, Agent{Name: "open", Scenario: open})
	for _, agent := range []string{"bot", "open"} {
		alice := w.callerOf("alice", agent)
		var task *a2a.Task
		for i, say := range []string{"hello", "pass", "ask", "hello", "fail", "pass", "pass", "hello"} {
			task = w.send(alice, opsAt(fmt.Sprint("m", i), say, "ours", ""))
		}
		conversation, _, _ := splitTask(task.ID)
		log, err := alice.client.Tail(t.Context(), &parley.TailParams{ConversationID: conversation})
		if err != nil {
			t.Fatal(err)
		}
		concluded := 0
		for i := range log.Events {
			e := &log.Events[i]
			if e.Type != parley.TypeMessage && e.Type != parley.TypeSystem {
				continue
			}
			var f floorFacts
			got, err := f.callerHasFloor(t.Context(), alice.client, foldKey{conversation, "alice"}, e, agent == "open",
				log.Events[i+1:])
			if err != nil {
				t.Fatal(err)
			}
			want, err := alice.client.Explain(t.Context(), &parley.ExplainParams{ConversationID: conversation, Seq: e.Seq})
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range want.Guidance {
				if g.ParticipantID == "alice" && (g.Guidance.Kind == parley.MaySpeak) != got {
					t.Errorf("%s: after %d (%s): %v, and the hub says %s", agent, e.Seq, e.Payload, got, g.Guidance.Kind)
				}
			}
			if _, known := tookNext("alice", log.Events[i+1:]); known {
				concluded++
			}
		}
		if concluded == 0 {
			t.Error("nothing was concluded")
		}
	}
}

// A status that no task can have is refused.
func TestListStatus(t *testing.T) {
	w := newOpsWorld(t)
	for _, status := range []a2a.TaskState{"nonsense", "completed"} {
		if _, err := w.s.list(t.Context(), w.caller("alice"), &a2a.ListTasksRequest{Status: status}); !errors.Is(err,
			a2a.ErrInvalidParams) {
			t.Errorf("%s: %v", status, err)
		}
	}
}
