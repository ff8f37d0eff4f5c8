package a2a

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
)

// A forbidden address is refused in the request, and a host name when it is dialed.
func TestPushAddresses(t *testing.T) {
	w := newPushWorld(t, func(o *PushOptions, _ *pace) { o.AllowPrivate, o.Attempts = nil, 2 })
	h := newHook(t, nil)
	task := w.begin("alice", "m1", nil)
	for _, raw := range []string{"", "x", "ftp://example.com", "https://u:p@example.com", "http://localhost/",
		"http://10.0.0.1/", h.URL, "http://[::1]:8080", "http://example.com:25"} {
		_, err := w.server.createPush(t.Context(), w.caller("alice"), &a2a.PushConfig{TaskID: task.ID, URL: raw})
		if !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("%q: %v", raw, err)
		}
	}
	w.push.url.HTTPSOnly = true
	if _, err := w.server.createPush(t.Context(), w.caller("alice"), &a2a.PushConfig{TaskID: task.ID,
		URL: "http://example.com"}); !errors.Is(err, a2a.ErrInvalidParams) {
		t.Error(err)
	}
	if h.tried() > 0 {
		t.Error("it was reached")
	}
}

// Configurations are created, replaced, returned and deleted.
func TestPushConfigs(t *testing.T) {
	w := newPushWorld(t, func(o *PushOptions, _ *pace) { o.MaxPerTask, o.MaxPerOwner = 3, 4 })
	h := newHook(t, nil)
	ctx, c := t.Context(), w.caller("alice")
	task := w.begin("alice", "m1", nil)
	make := func(task a2a.TaskID, id string) (*a2a.PushConfig, error) {
		q := configTo(h, id)
		q.TaskID = task
		return w.server.createPush(ctx, c, q)
	}
	for name, change := range map[string]func(*a2a.PushConfig){
		"a long id":           func(q *a2a.PushConfig) { q.ID = strings.Repeat("x", 129) },
		"an id with a break":  func(q *a2a.PushConfig) { q.ID = "a\nb" },
		"a token of lines":    func(q *a2a.PushConfig) { q.Token = "a\r\nX: y" },
		"a long token":        func(q *a2a.PushConfig) { q.Token = strings.Repeat("x", maxPushSecret+1) },
		"credentials of two":  func(q *a2a.PushConfig) { q.Auth.Credentials = "a\nb" },
		"a scheme of two":     func(q *a2a.PushConfig) { q.Auth.Scheme = "Bearer x" },
		"no scheme":           func(q *a2a.PushConfig) { q.Auth.Scheme = "" },
		"a long URL":          func(q *a2a.PushConfig) { q.URL += strings.Repeat("x", 3000) },
		"a URL with a secret": func(q *a2a.PushConfig) { q.URL = "http://u:" + pushToken + "@example.com" },
	} {
		q := configTo(h, "c")
		q.TaskID = task.ID
		change(q)
		if _, err := w.server.createPush(ctx, c, q); !errors.Is(err, a2a.ErrInvalidParams) || strings.Contains(err.Error(),
			"s3cret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	made, err := make(task.ID, "")
	if err != nil || made.ID == "" || made.Token != "" || made.Auth.Credentials != "" {
		t.Fatalf("%+v, %v", made, err)
	}
	if _, err := make("cnv_none.2", "c"); !errors.Is(err, a2a.ErrTaskNotFound) {
		t.Error(err)
	}
	for _, id := range []string{"b", "a", "b"} {
		if _, err := make(task.ID, id); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := make(task.ID, "d"); !errors.Is(err, a2a.ErrUnsupportedOperation) {
		t.Error(err)
	}
	second := w.begin("alice", "m2", nil)
	if _, err := make(second.ID, "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := make(second.ID, "y"); !errors.Is(err, a2a.ErrUnsupportedOperation) {
		t.Error(err)
	}
	var ids []string
	for token := ""; ; {
		page, err := w.server.listPush(ctx, c, &a2a.ListTaskPushConfigRequest{TaskID: task.ID, PageSize: 2, PageToken: token})
		if err != nil || len(page.Configs) > 2 {
			t.Fatal(page, err)
		}
		for _, x := range page.Configs {
			ids = append(ids, x.ID)
		}
		if token = page.NextPageToken; token == "" {
			break
		}
	}
	want := []string{made.ID, "a", "b"}
	slices.Sort(want)
	if !slices.Equal(ids, want) {
		t.Errorf("%q, want %q", ids, want)
	}
	for _, q := range []*a2a.ListTaskPushConfigRequest{{TaskID: task.ID, PageToken: "?"},
		{TaskID: task.ID, PageSize: -1}} {
		if _, err := w.server.listPush(ctx, c, q); !errors.Is(err, a2a.ErrInvalidParams) {
			t.Error(err)
		}
	}
	for range 2 {
		if err := w.server.deletePush(ctx, c, &a2a.DeleteTaskPushConfigRequest{TaskID: task.ID, ID: "a"}); err != nil {
			t.Error(err)
		}
	}
	w.stop()
	w.start()
	c = w.caller("alice")
	if _, err := w.server.getPush(ctx, c, &a2a.GetTaskPushConfigRequest{TaskID: task.ID, ID: "a"}); !errors.Is(err,
		a2a.ErrTaskNotFound) {
		t.Error(err)
	}
	if one, err := w.server.getPush(ctx, c, &a2a.GetTaskPushConfigRequest{TaskID: task.ID, ID: "b"}); err != nil ||
		one.URL != configTo(h, "").URL {
		t.Error(one, err)
	}
	// A deleted configuration sends nothing more.
	gone := newHook(t, func(rw http.ResponseWriter, _ *http.Request, _ int) bool { rw.WriteHeader(500); return true })
	q := configTo(gone, "b")
	q.TaskID = task.ID
	if _, err := w.server.createPush(ctx, c, q); err != nil { // replaces the other one, which was sent the task
		t.Fatal(err)
	}
	w.says(task, "one", parley.FinalityNone)
	w.until("an attempt", func() bool { return gone.tried() > 1 })
	if err := w.server.deletePush(ctx, c, &a2a.DeleteTaskPushConfigRequest{TaskID: task.ID, ID: "b"}); err != nil {
		t.Fatal(err)
	}
	tried := gone.tried()
	gone.let(nil)
	w.says(task, "done", parley.FinalityTurn)
	w.ended("alice", task.ID, made.ID)
	if len(gone.all()) > 1 || gone.tried() > tried+1 { // one delivery may have been running
		t.Errorf("%q", gone.all())
	}
}

// A task of another caller has no configurations, with the same error as a missing task. Each owner
// receives its own notifications.
func TestPushOwners(t *testing.T) {
	w := newPushWorld(t, nil)
	ours, theirs := newHook(t, nil), newHook(t, nil)
	mine, hers := w.begin("alice", "m1", configTo(ours, "c")), w.begin("carol", "m1", configTo(theirs, "c"))
	other := &caller{client: w.clients["alice"], agent: w.server.agent("other")}
	none := a2a.TaskID(conversationOf(mine) + "0.2")
	for name, x := range map[string]struct {
		c    *caller
		task a2a.TaskID
	}{"foreign": {w.caller("carol"), mine.ID}, "foreign too": {w.caller("alice"), hers.ID}, "none": {w.caller("alice"),
		none}, "another agent's": {other, mine.ID}} {
		q := configTo(ours, "c")
		q.TaskID = x.task
		_, made := w.server.createPush(t.Context(), x.c, q)
		_, got := w.server.getPush(t.Context(), x.c, &a2a.GetTaskPushConfigRequest{TaskID: x.task, ID: "c"})
		_, listed := w.server.listPush(t.Context(), x.c, &a2a.ListTaskPushConfigRequest{TaskID: x.task})
		deleted := w.server.deletePush(t.Context(), x.c, &a2a.DeleteTaskPushConfigRequest{TaskID: x.task, ID: "c"})
		for _, err := range []error{made, got, listed, deleted} {
			if !errors.Is(err, a2a.ErrTaskNotFound) || err.Error() != made.Error() {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	w.says(mine, "to alice", parley.FinalityTurn)
	w.says(hers, "to carol", parley.FinalityTurn)
	w.ended("alice", mine.ID, "c")
	w.ended("carol", hers.ID, "c")
	same(t, once(ours.all()), w.streamed("alice", mine))
	same(t, once(theirs.all()), w.streamed("carol", hers))
}

// Without a Push, every method says so, and a message with a configuration is not posted.
func TestPushNotOffered(t *testing.T) {
	w := newPushWorld(t, nil)
	h := newHook(t, nil)
	task := w.begin("alice", "m1", nil)
	w.server.opts.Push = nil
	c, q := w.caller("alice"), configTo(h, "c")
	q.TaskID = task.ID
	_, made := w.server.createPush(t.Context(), c, q)
	_, got := w.server.getPush(t.Context(), c, &a2a.GetTaskPushConfigRequest{TaskID: task.ID, ID: "c"})
	_, listed := w.server.listPush(t.Context(), c, &a2a.ListTaskPushConfigRequest{TaskID: task.ID})
	deleted := w.server.deletePush(t.Context(), c, &a2a.DeleteTaskPushConfigRequest{TaskID: task.ID, ID: "c"})
	m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("hello"))
	_, sent := w.server.send(t.Context(), c, &a2a.SendMessageRequest{Message: m,
		Config: &a2a.SendMessageConfig{PushConfig: q}})
	for _, err := range []error{made, got, listed, deleted, sent} {
		if !errors.Is(err, a2a.ErrPushNotificationNotSupported) {
			t.Error(err)
		}
	}
}

// A replacement with the same id continues at the cursor of the previous configuration.
func TestPushReplacementKeepsCursor(t *testing.T) {
	w := newPushWorld(t, nil)
	dead := newHook(t, func(rw http.ResponseWriter, _ *http.Request, try int) bool {
		if try > 1 {
			rw.WriteHeader(500)
		}
		return try > 1
	})
	h := newHook(t, nil)
	task := w.begin("alice", "m1", configTo(dead, "c"))
	w.says(task, "one", parley.FinalityNone)
	w.says(task, "two", parley.FinalityNone)
	w.until("attempts", func() bool { return dead.tried() > 3 })
	q := configTo(h, "c")
	q.TaskID = task.ID
	if _, err := w.server.createPush(t.Context(), w.caller("alice"), q); err != nil {
		t.Fatal(err)
	}
	w.says(task, "three", parley.FinalityTurn)
	w.ended("alice", task.ID, "c")
	same(t, append(dead.all(), h.all()...), w.streamed("alice", task))
}

// The end-to-end path in both versions: a message with a configuration, and its notifications.
func TestPushByHTTP(t *testing.T) {
	w := newPushWorld(t, nil)
	front := httptest.NewServer(w.server.Handler())
	defer front.Close()
	call := func(version, method, params string) string {
		t.Helper()
		q := must(http.NewRequestWithContext(t.Context(), http.MethodPost, front.URL+"/a2a/bob",
			strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`)))
		q.Header.Set("Content-Type", "application/json")
		q.Header.Set("A2A-Version", version)
		a, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Body.Close()
		return string(must(io.ReadAll(a.Body)))
	}
	for _, c := range []struct{ version, send, config, get string }{
		{
			"1.0", `"SendMessage"|{"message":{"messageId":"new","role":"ROLE_USER","parts":[{"text":"hi"}]},` +
				`"configuration":{"returnImmediately":true,"taskPushNotificationConfig":%s}}`,
			`{"id":"c","url":"%s","token":"` + pushToken + `","authentication":{"scheme":"Bearer","credentials":"` +
				pushCredentials + `"}}`,
			`"GetTaskPushNotificationConfig"|{"taskId":"%s","id":"c"}`,
		},
		{
			"0.3", `"message/send"|{"message":{"kind":"message","messageId":"old","role":"user","parts":[{"kind":"text",` +
				`"text":"hi"}]},"configuration":{"blocking":false,"pushNotificationConfig":%s}}`,
			`{"id":"c","url":"%s","token":"` + pushToken + `","authentication":{"schemes":["Bearer"],"credentials":"` +
				pushCredentials + `"}}`,
			`"tasks/pushNotificationConfig/get"|{"id":"%s","pushNotificationConfigId":"c"}`,
		},
	} {
		h := newHook(t, nil)
		ask := func(form, arg string) string {
			method, params, _ := strings.Cut(form, "|")
			return call(c.version, strings.Trim(method, `"`), fmt.Sprintf(params, arg))
		}
		sent := ask(c.send, fmt.Sprintf(c.config, h.URL))
		var r struct {
			Result struct {
				ID   string `json:"id"`
				Task struct {
					ID string `json:"id"`
				} `json:"task"`
			} `json:"result"`
		}
		if err := json.Unmarshal([]byte(sent), &r); err != nil || r.Result.ID+r.Result.Task.ID == "" {
			t.Fatalf("%s: %s", c.version, sent)
		}
		task := &a2a.Task{ID: a2a.TaskID(r.Result.ID + r.Result.Task.ID)}
		told := ask(c.get, string(task.ID))
		if !strings.Contains(told, h.URL) || strings.Contains(told, "s3cret") {
			t.Errorf("%s: %s", c.version, told)
		}
		w.says(task, "done", parley.FinalityTurn)
		w.ended("alice", task.ID, "c")
		last := h.all()[len(h.all())-1]
		if bare := strings.Contains(last, `"kind":"task"`); bare != (c.version == "0.3") ||
			!strings.Contains(strings.ToLower(last), "completed") {
			t.Errorf("%s: %s", c.version, last)
		}
		if h.heads[0].Get("Authorization") != "Bearer "+pushCredentials ||
			h.heads[0].Get("X-A2A-Notification-Token") != pushToken {
			t.Errorf("%s: %v", c.version, h.heads[0])
		}
	}
}
