package a2a

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

const (
	pushToken       = "tkn-s3cret-1"
	pushCredentials = "crd-s3cret-2"
	pushQuery       = "qry-s3cret-3"
)

func configTo(h *hook, id string) *a2a.PushConfig {
	return &a2a.PushConfig{ID: id, URL: h.URL + "/in?q=" + pushQuery, Token: pushToken,
		Auth: &a2a.PushAuthInfo{Scheme: "bearer", Credentials: pushCredentials}}
}

// The updates of a stream arrive by POST in the same order, with the authentication of the caller,
// and the log has no secrets.
func TestPushDelivers(t *testing.T) {
	w := newPushWorld(t, nil)
	h := newHook(t, nil)
	task := w.begin("alice", "m1", configTo(h, ""))
	w.says(task, "one", parley.FinalityNone)
	w.says(task, "two", parley.FinalityTurn)
	id := "message-" + digest("m1")
	if why := w.ended("alice", task.ID, id); why != endedDelivered {
		t.Fatal(why)
	}
	want := w.streamed("alice", task)
	same(t, once(h.all()), want)
	if len(want) < 3 {
		t.Fatalf("%q", want)
	}
	for _, head := range h.heads {
		for name, value := range map[string]string{
			"Content-Type": "application/a2a+json", "X-A2A-Notification-Token": pushToken, "A2A-Notification-Token": pushToken,
			"Authorization": "Bearer " + pushCredentials,
		} {
			if head.Get(name) != value {
				t.Errorf("%s: %q", name, head.Get(name))
			}
		}
	}
	// The repeated message neither creates another configuration nor revives this one.
	w.begin("alice", "m1", configTo(h, ""))
	c := w.caller("alice")
	list, err := w.server.listPush(t.Context(), c, &a2a.ListTaskPushConfigRequest{TaskID: task.ID})
	if err != nil || len(list.Configs) != 1 || list.Configs[0].ID != id {
		t.Fatalf("%+v, %v", list, err)
	}
	one, err := w.server.getPush(t.Context(), c, &a2a.GetTaskPushConfigRequest{TaskID: task.ID, ID: id})
	if err != nil || one.URL != configTo(h, "").URL || one.Token != "" || one.Auth == nil || one.Auth.Credentials != "" ||
		one.Auth.Scheme != "Bearer" {
		t.Fatalf("%+v, %v", one, err)
	}
	raw, kinds := w.notes()
	for _, hidden := range []string{pushToken, pushCredentials, pushQuery} {
		if strings.Contains(raw, hidden) || strings.Contains(w.logged.String(), hidden) {
			t.Errorf("%s is in the log", hidden)
		}
	}
	if kinds[configSchema] != 1 || kinds[cursorSchema] == 0 {
		t.Errorf("%v", kinds)
	}
}

// The adapter and the hub are killed while the receiver fails. Nothing is lost or reordered.
func TestPushRestarts(t *testing.T) {
	w := newPushWorld(t, nil)
	var down atomic.Bool
	h := newHook(t, func(rw http.ResponseWriter, _ *http.Request, try int) bool {
		if down.Load() || try%3 == 0 {
			rw.WriteHeader([]int{500, 503, 429, 404}[try%4])
			return true
		}
		return false
	})
	task := w.begin("alice", "m1", configTo(h, "c"))
	for i := range 12 {
		switch i % 4 {
		case 0:
			down.Store(true)
		case 1:
			w.stop()
		case 2:
			w.hub.Restart(t)
		case 3:
			w.start()
			down.Store(false)
		}
		w.says(task, fmt.Sprint("part ", i), parley.FinalityNone)
	}
	w.says(task, "done", parley.FinalityTurn)
	if why := w.ended("alice", task.ID, "c"); why != endedDelivered {
		t.Fatal(why)
	}
	same(t, once(h.all()), w.streamed("alice", task))
	n := len(h.all())
	w.stop()
	w.start()
	w.says(w.begin("alice", "m2", configTo(h, "d")), "x", parley.FinalityTurn) // the first would come before it
	w.until("the second", func() bool { return len(h.all()) > n+1 })
	for _, body := range h.all()[n:] {
		if strings.Contains(body, string(task.ID)) {
			t.Errorf("what has ended was sent again: %s", body)
		}
	}
}

// Updates that were not delivered when the conversation was closed are delivered later.
func TestPushAfterClose(t *testing.T) {
	w := newPushWorld(t, nil)
	var up atomic.Bool
	h := newHook(t, func(rw http.ResponseWriter, _ *http.Request, _ int) bool {
		if up.Load() {
			return false
		}
		rw.WriteHeader(502)
		return true
	})
	task := w.begin("alice", "m1", configTo(h, "c"))
	w.says(task, "bye", parley.FinalityConversation)
	w.until("an attempt", func() bool { return h.tried() > 3 })
	w.stop()
	w.start()
	up.Store(true)
	if why := w.ended("alice", task.ID, "c"); why != endedDelivered {
		t.Fatal(why)
	}
	same(t, once(h.all()), w.streamed("alice", task))
}

// A task that needs input is delivered before and after the answer. A later configuration begins
// with the current task.
func TestPushContinuesAfterInput(t *testing.T) {
	w := newPushWorld(t, nil)
	h, later, ended := newHook(t, nil), newHook(t, nil), newHook(t, nil)
	task := w.begin("alice", "m1", configTo(h, "c"))
	w.says(task, "which?", parley.FinalityTurn, tagInputRequired)
	w.until("the question", func() bool {
		return strings.Contains(strings.Join(h.all(), ""),
			string(a2a.TaskStateInputRequired))
	})
	late := configTo(later, "late")
	late.TaskID = task.ID
	if _, err := w.server.createPush(t.Context(), w.caller("alice"), late); err != nil {
		t.Fatal(err)
	}
	w.until("the task", func() bool { return len(later.all()) == 1 })
	m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("that"))
	m.ID, m.TaskID = "m2", task.ID
	if _, err := w.server.send(t.Context(), w.caller("alice"), &a2a.SendMessageRequest{Message: m,
		Config: &a2a.SendMessageConfig{ReturnImmediately: true}}); err != nil {
		t.Fatal(err)
	}
	w.says(task, "fine", parley.FinalityTurn)
	for _, id := range []string{"c", "late"} {
		if why := w.ended("alice", task.ID, id); why != endedDelivered {
			t.Fatal(why)
		}
	}
	want := w.streamed("alice", task)
	same(t, once(h.all()), want)
	got := once(later.all())
	if !strings.HasPrefix(got[0], `{"task":`) || !strings.Contains(got[0], string(a2a.TaskStateInputRequired)) {
		t.Errorf("it begins with %s", got[0])
	}
	same(t, got[1:], want[len(want)-len(got)+1:])

	last := configTo(ended, "ended")
	last.TaskID = task.ID
	if _, err := w.server.createPush(t.Context(), w.caller("alice"), last); err != nil {
		t.Fatal(err)
	}
	if why := w.ended("alice", task.ID, "ended"); why != endedDelivered {
		t.Fatal(why)
	}
	if got := ended.all(); len(got) != 1 || !strings.Contains(got[0], string(a2a.TaskStateCompleted)) {
		t.Errorf("%q", got)
	}
}

// A configuration of 0.3 receives only the task, in its state after each update.
func TestPushLegacy(t *testing.T) {
	w := newPushWorld(t, nil)
	h := newHook(t, nil)
	c := w.caller("alice")
	c.legacy = true
	task := w.beginAs(c, "m1", configTo(h, "c"))
	w.says(task, "one", parley.FinalityNone)
	w.says(task, "two", parley.FinalityTurn)
	w.ended("alice", task.ID, "c")
	got := h.all()
	if len(got) != len(w.streamed("alice", task)) {
		t.Errorf("%q", got)
	}
	var states []string
	for i, body := range got {
		var v struct {
			Kind   string `json:"kind"`
			ID     string `json:"id"`
			Status struct {
				State string `json:"state"`
			} `json:"status"`
		}
		if err := json.Unmarshal([]byte(body), &v); err != nil || v.Kind != "task" || v.ID != string(task.ID) ||
			h.heads[i].Get("Content-Type") != "application/json" {
			t.Errorf("%s, %v", body, err)
		}
		states = append(states, v.Status.State)
	}
	if states[0] != "submitted" || states[len(states)-1] != "completed" || !slices.Contains(states, "working") {
		t.Errorf("%q", states)
	}
}

// A failing receiver is tried a limited number of times, and the log says so. Its responses are
// stored nowhere.
func TestPushGivesUp(t *testing.T) {
	reached := newHook(t, nil)
	hang := make(chan struct{})
	defer close(hang)
	for name, answer := range map[string]func(rw http.ResponseWriter, r *http.Request, try int) bool{
		"failing": func(rw http.ResponseWriter, _ *http.Request, _ int) bool {
			rw.WriteHeader(500)
			_, _ = rw.Write([]byte("ans-s3cret"))
			return true
		},
		"refusing": func(rw http.ResponseWriter, _ *http.Request, _ int) bool { rw.WriteHeader(403); return true },
		"redirecting": func(rw http.ResponseWriter, r *http.Request, _ int) bool {
			http.Redirect(rw, r, reached.URL, http.StatusTemporaryRedirect)
			return true
		},
		"closing": func(http.ResponseWriter, *http.Request, int) bool { panic(http.ErrAbortHandler) },
		"slow": func(_ http.ResponseWriter, r *http.Request, _ int) bool {
			select {
			case <-hang:
			case <-r.Context().Done():
			}
			return true
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newPushWorld(t, func(o *PushOptions, p *pace) {
				o.Attempts = 4
				if name == "slow" {
					p.timeout = 50 * time.Millisecond
				}
			})
			h := newHook(t, answer)
			task := w.begin("alice", "m1", configTo(h, "c"))
			if why := w.ended("alice", task.ID, "c"); why != endedGaveUp {
				t.Fatal(why)
			}
			// net/http retries when a connection is closed, and a late request may not be counted
			if n := h.tried(); n != 4 && name != "closing" && (name != "slow" || n > 4) {
				t.Errorf("tried %d times", n)
			}
			w.stop()
			h.Close() // waits for running requests
			n := h.tried()
			w.start()
			w.says(task, "done", parley.FinalityTurn)
			other := newHook(t, nil)
			w.says(w.begin("alice", "m2", configTo(other, "d")), "x", parley.FinalityTurn)
			w.until("another", func() bool { return len(other.all()) > 1 })
			if h.tried() != n || len(h.all()) > 0 {
				t.Errorf("it is tried again")
			}
			raw, kinds := w.notes()
			if kinds[gaveUpSchema] != 1 || !strings.Contains(w.logged.String(), "have failed too often") {
				t.Errorf("%v", kinds)
			}
			for _, hidden := range []string{pushToken, pushCredentials, pushQuery, "ans-s3cret"} {
				if strings.Contains(raw, hidden) || strings.Contains(w.logged.String(), hidden) {
					t.Errorf("%s is in the log", hidden)
				}
			}
		})
	}
	if reached.tried() > 0 {
		t.Error("a redirect was followed")
	}
}

// The limiter limits the total, and one owner to a quarter.
func TestPushLimiter(t *testing.T) {
	g := newLimiter(8)
	for _, who := range []string{"a", "a", "b", "b", "c", "c"} {
		if err := g.enter(t.Context(), who); err != nil {
			t.Fatal(err)
		}
	}
	entered := make(chan error, 1)
	go func() { entered <- g.enter(t.Context(), "a") }()
	if err := g.enter(t.Context(), "d"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-entered:
		t.Fatal("a third of one owner")
	default:
	}
	g.leave("a")
	if err := <-entered; err != nil {
		t.Fatal(err)
	}
	p := pace{first: time.Second, longest: 5 * time.Minute}
	for n, want := range map[int]time.Duration{0: time.Second, 1: 2 * time.Second, 8: 256 * time.Second,
		9: 5 * time.Minute, 70: 5 * time.Minute} {
		for range 100 {
			if d := p.pause(n); d < want/2 || d > want {
				t.Fatalf("%d: %s", n, d)
			}
		}
	}
}
