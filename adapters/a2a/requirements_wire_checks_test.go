package a2a

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// wireHistory checks the history of a task that asked for input.
func wireHistory(t *testing.T, w *wireWorld) {
	task := w.task("m1", "ask", "metadata", object{"k": "v"})
	w.task("m2", "hello", "taskId", task["id"], "parts", []object{{"text": "hello"}, {"data": object{"n": 1}}})
	a := w.call("GetTask", object{"id": task["id"]})
	said, _ := a.at(t, "history").([]any)
	if len(said) != 3 {
		t.Fatalf("%s", a.body)
	}
	for path, want := range map[string]any{
		"history.0.messageId": "m1", "history.0.role": "ROLE_USER", "history.0.parts.0.text": "ask",
		"history.0.metadata.k": "v",
		"history.1.role":       "ROLE_AGENT", "history.1.parts.0.text": "what?",
		"history.2.messageId": "m2", "history.2.parts.0.text": "hello", "history.2.parts.1.data.n": 1.0,
	} {
		if got := a.at(t, path); got != want {
			t.Errorf("%s is %v and not %v", path, got, want)
		}
	}
}

// wireStates checks the states of tasks with all kinds of ends.
func wireStates(t *testing.T, w *wireWorld) {
	ends := map[string]string{"hello": "COMPLETED", "ask": "INPUT_REQUIRED", "auth": "AUTH_REQUIRED", "fail": "FAILED",
		"reject": "REJECTED", "pass": "FAILED", "close": "COMPLETED"}
	for _, text := range wireWords {
		if got := state(w.task("m-"+text, text)); got != "TASK_STATE_"+ends[text] {
			t.Errorf("%s: %s", text, got)
		}
	}
	states := []string{"SUBMITTED", "WORKING", "COMPLETED", "FAILED", "CANCELED", "INPUT_REQUIRED", "REJECTED",
		"AUTH_REQUIRED"}
	for _, e := range w.call("SendStreamingMessage", w.says("m-streamed", "hello")).events {
		update, is := e.(object)["statusUpdate"].(object)
		if is && !slices.Contains(states, strings.TrimPrefix(state(update), "TASK_STATE_")) {
			t.Errorf("%v", update)
		}
	}
}

// wireMessages checks all messages of tasks.
func wireMessages(t *testing.T, w *wireWorld, good func(m object) bool) {
	n := 0
	for _, text := range wireWords {
		task := w.task("m-"+text, text)
		said, _ := task["history"].([]any)
		if m := task["status"].(object)["message"]; m != nil {
			said = append(said, m)
		}
		for _, m := range said {
			if n++; !good(m.(object)) {
				t.Errorf("%s: %v", text, m)
			}
		}
	}
	if n < 2*len(wireWords)-1 {
		t.Errorf("%d messages", n)
	}
}

// wireMembers checks all members of a value, except metadata, whose names belong to others.
func wireMembers(t *testing.T, w *wireWorld, good func(name string, v any) bool) {
	var look func(v any)
	look = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				look(e)
			}
		case object:
			for name, e := range v {
				if !good(name, e) {
					t.Errorf("%s: %v", name, e)
				}
				if name != "metadata" {
					look(e)
				}
			}
		}
	}
	for _, text := range wireWords {
		look(w.task("m-"+text, text))
	}
	for _, e := range w.call("SendStreamingMessage", w.says("m-streamed", "hello")).events {
		look(e)
	}
	look(w.call("ListTasks", object{"includeArtifacts": true}).result)
	look(w.call("GetExtendedAgentCard", object{}).result)
}

// wireAuthRequired lets an agent require authorization.
func wireAuthRequired(t *testing.T, w *wireWorld) {
	task := w.task("m1", "auth")
	status := task["status"].(object)
	m, _ := status["message"].(object)
	if id, _ := task["id"].(string); id == "" || state(task) != "TASK_STATE_AUTH_REQUIRED" || m == nil ||
		len(m["parts"].([]any)) == 0 {
		t.Errorf("%v", task)
	}
}

// wireForeign requests a task of another caller and a missing one: the responses differ only in the
// id.
func wireForeign(t *testing.T, w *wireWorld) {
	mine, _ := w.task("m1", "ask")["id"].(string)
	none := strings.Replace(mine, mine[4:10], "aaaaaa", 1)
	for method := range wireRoutes {
		foreign, nowhere := wireParams(w, method, mine), wireParams(w, method, none)
		switch {
		case strings.HasPrefix(method, "Send"):
			foreign, nowhere = w.says("m2", "hello", "taskId", mine), w.says("m2", "hello", "taskId", none)
		case method == "ListTasks", method == "GetExtendedAgentCard":
			continue
		}
		one, two := w.callAs("bob", method, foreign), w.callAs("bob", method, nowhere)
		if w.refused(one, "TASK_NOT_FOUND"); one.status != two.status || one.body != two.body {
			t.Errorf("%s: HTTP %d %s and HTTP %d %s", method, one.status, one.body, two.status, two.body)
		}
	}
	if a := w.call("GetTask", object{"id": mine}); a.at(t, "status.state") != "TASK_STATE_INPUT_REQUIRED" {
		t.Errorf("it is now %s", a.body)
	}
}

func wirePushList(t *testing.T, w *wireWorld) {
	task := w.task("m1", "ask")["id"]
	for _, id := range []string{"a", "b"} {
		w.call("CreateTaskPushNotificationConfig", object{"taskId": task, "id": id, "url": w.push.URL})
	}
	one := w.call("GetTaskPushNotificationConfig", object{"taskId": task, "id": "b"})
	if one.at(t, "id") != "b" || one.at(t, "url") != w.push.URL || one.at(t, "taskId") != task {
		t.Errorf("%s", one.body)
	}
	all := w.call("ListTaskPushNotificationConfigs", object{"taskId": task})
	if all.at(t, "configs.0.id") != "a" || all.at(t, "configs.1.id") != "b" || all.at(t, "configs.2") != nil {
		t.Errorf("%s", all.body)
	}
}

func wirePushDelete(t *testing.T, w *wireWorld) {
	task := w.task("m1", "ask")["id"]
	w.call("CreateTaskPushNotificationConfig", object{"taskId": task, "id": "c", "url": w.push.URL})
	for range 2 {
		if a := w.call("DeleteTaskPushNotificationConfig", object{"taskId": task, "id": "c"}); a.reason != "" {
			t.Errorf("%s", a.body)
		}
		w.refused(w.call("GetTaskPushNotificationConfig", object{"taskId": task, "id": "c"}), "TASK_NOT_FOUND")
	}
}

// wirePushNotifications checks the notifications of a task from its message to its end.
func wirePushNotifications(t *testing.T, w *wireWorld) {
	p := w.says("m1", "hello")
	p["configuration"] = object{"taskPushNotificationConfig": object{"url": w.push.URL,
		"authentication": object{"scheme": "Bearer", "credentials": "s3cret"}}}
	if a := w.call("SendMessage", p); a.at(t, "task.id") == nil {
		t.Fatalf("%s", a.body)
	}
	w.until("the end is told", func() bool {
		return slices.ContainsFunc(w.push.all(), func(body string) bool {
			return strings.Contains(body,
				"TASK_STATE_COMPLETED")
		})
	})
	for _, body := range w.push.all() {
		var told object
		if err := json.Unmarshal([]byte(body), &told); err != nil || len(told) != 1 {
			t.Fatalf("%s: %v", body, err)
		}
		for name := range told {
			if !slices.Contains([]string{"task", "message", "statusUpdate", "artifactUpdate"}, name) {
				t.Errorf("%s", body)
			}
		}
	}
	w.push.mu.Lock()
	defer w.push.mu.Unlock()
	for _, h := range w.push.heads {
		if h.Get("Authorization") != "Bearer s3cret" {
			t.Errorf("Authorization: %q", h.Get("Authorization"))
		}
	}
}
