package a2a

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// wireRequirements are the requirements of the conformance kit that a client can see on the wire.
var wireRequirements = []wireRequirement{
	{"CORE-STREAM-002", "MUST", "a stream that brings a message has that one event", func(t *testing.T, w *wireWorld) {
		first := w.call("SendStreamingMessage", w.says("m1", "bare"))
		for i, e := range first.events { // it may begin with a task if the answer came later
			if e.(object)["message"] != nil && (i > 0 || len(first.events) > 1) {
				t.Errorf("%s", first.body)
			}
		}
		again := w.call("SendStreamingMessage", w.says("m1", "bare"))
		if len(again.events) != 1 || again.at(t, "message.parts.0.text") != "a word" {
			t.Errorf("%s", again.body)
		}
	}},
	{"CORE-ERR-001", "MUST", "errors say what is wrong and what to do", func(t *testing.T, w *wireWorld) {
		done := w.task("m1", "hello")
		a := w.call("SendMessage", w.says("m2", "more", "taskId", done["id"]))
		if w.refused(a, "UNSUPPORTED_OPERATION"); !strings.Contains(a.body, "send without taskId to begin another") {
			t.Errorf("%s", a.body)
		}
	}},
	{"CORE-ERR-002", "MUST", "what is asked is looked at before anything is done", func(t *testing.T, w *wireWorld) {
		history := func(n any) object {
			p := w.says("m1", "hello")
			p["configuration"] = object{"historyLength": n}
			return p
		}
		for i, p := range []object{
			{}, {"message": object{}}, w.says("", "hello"), w.says("m1", "hello", "role", "ROLE_AGENT"),
			w.says("m1", "hello", "role", "NOBODY"), w.says("m1", "hello", "parts", []object{}),
			w.says("m1", "hello", "parts", []object{{}}), w.says("m1", "hello", "parts",
				[]object{{"text": "a", "url": "https://example.com"}}), w.says("m1", "hello", "parts", "hello"),
			w.says(strings.Repeat("x", 2000), "hello"), history(-1), history("many"),
		} {
			a := w.call("SendMessage", p)
			if a.reason != "INVALID_PARAMS" {
				t.Errorf("%d: %s", i, a.body)
			}
		}
		for _, p := range []object{{"pageSize": -1}, {"pageSize": 101}, {"pageToken": "?"}, {"historyLength": -1},
			{"statusTimestampAfter": "yesterday"}, {"status": "BUSY"}} {
			w.refused(w.call("ListTasks", p), "INVALID_PARAMS")
		}
		if n := w.call("ListTasks", object{}).at(t, "totalSize"); n != 0.0 {
			t.Errorf("%v tasks have begun", n)
		}
	}},
	{"CORE-MULTI-002a", "MUST", "a contextId that cannot be taken is refused, and no other is made",
		func(t *testing.T, w *wireWorld) {
			hers := w.callAs("bob", "SendMessage", w.says("m1", "hello")).at(t, "task.contextId")
			for _, id := range []any{"cnv_aaaaaaaaaaaaaaaaaaaaaaaa", hers} {
				w.refused(w.call("SendMessage", w.says("m1", "hello", "contextId", id)), "TASK_NOT_FOUND")
			}
			w.refused(w.call("SendMessage", w.says("m1", "hello", "contextId", strings.Repeat("x", 2000))), "INVALID_PARAMS")
			if n := w.call("ListTasks", object{}).at(t, "totalSize"); n != 0.0 {
				t.Errorf("%v tasks have begun", n)
			}
		}},
	{"CORE-MULTI-003", "MUST", "each task has its own id", func(t *testing.T, w *wireWorld) {
		one := w.task("m1", "hello")
		two, three := w.task("m2", "hello"), w.task("m3", "hello", "contextId", one["contextId"])
		if one["id"] == "" || one["id"] == nil || one["id"] == two["id"] || one["id"] == three["id"] ||
			three["contextId"] != one["contextId"] {
			t.Errorf("%v, %v, %v", one["id"], two["id"], three["id"])
		}
	}},
	{"CORE-HIST-002", "MUST", "there are no more messages than historyLength says", func(t *testing.T, w *wireWorld) {
		task := w.task("m1", "ask")
		w.task("m2", "hello", "taskId", task["id"])
		for n := range 5 {
			a := w.call("GetTask", object{"id": task["id"], "historyLength": n})
			if had, _ := a.at(t, "history").([]any); len(had) != min(n, 3) {
				t.Errorf("%d: %s", n, a.body)
			}
		}
	}},
	{"CORE-HIST-003", "SHOULD", "historyLength: 0 of SendMessage returns none", func(t *testing.T, w *wireWorld) {
		p := w.says("m1", "hello")
		p["configuration"] = object{"historyLength": 0}
		if a := w.call("SendMessage", p); a.at(t, "task.id") == nil || a.at(t, "task.history") != nil {
			t.Errorf("%s", a.body)
		}
	}},
	{"CORE-HIST-004", "MAY", "messages are kept in the history", wireHistory},
	{"CORE-HIST-005", "SHOULD", "the history is in the order in which things were said", wireHistory},
	{"CORE-HIST-006", "SHOULD", "messages of the history are as they were said", wireHistory},
	{"DM-TASK-001", "MUST", "a task has its id, contextId and status", func(t *testing.T, w *wireWorld) {
		for _, text := range wireWords {
			task := w.task("m-"+text, text)
			for _, name := range []string{"id", "contextId"} {
				if s, _ := task[name].(string); s == "" {
					t.Errorf("%s: %s is %v", text, name, task[name])
				}
			}
			if _, is := task["status"].(object); !is {
				t.Errorf("%s: %v", text, task)
			}
		}
	}},
	{"DM-TASK-002", "MUST", "states are those of the specification", wireStates},
	{"DM-STATUS-001", "MUST", "a status has a state", wireStates},
	{"DM-MSG-001", "MUST", "a message has its role, parts and messageId", func(t *testing.T, w *wireWorld) {
		wireMessages(t, w, func(m object) bool {
			parts, _ := m["parts"].([]any)
			id, _ := m["messageId"].(string)
			return m["role"] != nil && len(parts) > 0 && id != ""
		})
	}},
	{"DM-MSG-002", "MUST", "roles are those of the specification", func(t *testing.T, w *wireWorld) {
		wireMessages(t, w, func(m object) bool { return m["role"] == "ROLE_USER" || m["role"] == "ROLE_AGENT" })
	}},
	{"DM-PART-001", "MUST", "a part has one content", func(t *testing.T, w *wireWorld) {
		wireMessages(t, w, func(m object) bool {
			for _, p := range m["parts"].([]any) {
				n := 0
				for _, name := range []string{"text", "raw", "url", "data"} {
					if _, is := p.(object)[name]; is {
						n++
					}
				}
				if n != 1 {
					return false
				}
			}
			return true
		})
		w.refused(w.call("SendMessage", w.says("two", "", "parts", []object{{"text": "a", "data": 1}})), "INVALID_PARAMS")
	}},
	{"DM-ART-001", "MUST", "an artifact has its artifactId and parts", func(t *testing.T, w *wireWorld) {
		all, _ := w.task("m1", "hello")["artifacts"].([]any)
		if len(all) != 1 {
			t.Fatalf("%v", all)
		}
		artifact := all[0].(object)
		if parts, _ := artifact["parts"].([]any); len(parts) == 0 || artifact["artifactId"] == "" ||
			artifact["artifactId"] == nil {
			t.Errorf("%v", artifact)
		}
	}},
	{"DM-SERIAL-001", "MUST", "names of members are in camelCase", func(t *testing.T, w *wireWorld) {
		wireMembers(t, w, func(name string, _ any) bool { return !strings.Contains(name, "_") })
	}},
	{"DM-SERIAL-002", "MUST", "states and roles are the names of the Protocol Buffers", func(t *testing.T, w *wireWorld) {
		wireMembers(t, w, func(name string, v any) bool {
			s, is := v.(string)
			return name != "state" && name != "role" || is && s == strings.ToUpper(s)
		})
	}},
	{"DM-SERIAL-003", "MUST", "times are of ISO 8601, in UTC", func(t *testing.T, w *wireWorld) {
		form, times := regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$`), 0
		wireMembers(t, w, func(name string, v any) bool {
			s, is := v.(string)
			if name == "timestamp" {
				times++
			}
			return name != "timestamp" || is && form.MatchString(s)
		})
		if times == 0 {
			t.Error("there are no times")
		}
	}},
	{"DM-SERIAL-004", "MUST", "what is required is there, also where it is empty", func(t *testing.T, w *wireWorld) {
		a := w.call("ListTasks", object{})
		for _, name := range []string{"tasks", "nextPageToken", "pageSize", "totalSize"} {
			if _, is := a.result.(object)[name]; !is {
				t.Errorf("%s is missing: %s", name, a.body)
			}
		}
	}},
	{"DM-SERIAL-005", "SHOULD", "members that are not known are ignored", func(t *testing.T, w *wireWorld) {
		p := w.says("m1", "hello", "tckUnknownField", "x")
		p["tckExtraParam"] = 42
		if a := w.call("SendMessage", p); a.at(t, "task.status.state") != "TASK_STATE_COMPLETED" {
			t.Errorf("%s", a.body)
		}
	}},
	{"AUTH-SERVER-002", "MUST", "every request is authenticated", func(t *testing.T, w *wireWorld) {
		task := w.task("m1", "ask")
		for method := range wireRoutes {
			for _, who := range []string{"", "nobody"} {
				a := w.callAs(who, method, wireParams(w, method, task["id"]))
				if w.refused(a, "UNAUTHENTICATED"); a.status != 401 || !strings.HasPrefix(a.header.Get("WWW-Authenticate"),
					"Bearer") {
					t.Errorf("%s: HTTP %d %v", method, a.status, a.header)
				}
			}
		}
	}},
	{"AUTH-INTASK-001", "MUST", "an agent that needs authorization has a task for it", wireAuthRequired},
	{"AUTH-INTASK-002", "MUST", "the task is then AUTH_REQUIRED", wireAuthRequired},
	{"AUTH-INTASK-003", "MUST", "its status says what is needed", wireAuthRequired},
	{"AUTH-INTASK-006", "SHOULD", "a task that is AUTH_REQUIRED takes messages", func(t *testing.T, w *wireWorld) {
		task := w.task("m1", "auth")
		if more := w.task("m2", "hello", "taskId", task["id"]); more["id"] != task["id"] ||
			state(more) != "TASK_STATE_COMPLETED" {
			t.Errorf("%v", more)
		}
	}},
	{"AUTH-SCOPE-001", "MUST", "every operation looks at whose the task is", wireForeign},
	{"AUTH-SCOPE-002", "MUST", "what is given is the caller's own", func(t *testing.T, w *wireWorld) {
		mine := w.task("m1", "hello")
		w.callAs("bob", "SendMessage", w.says("m1", "hello"))
		a := w.call("ListTasks", object{})
		if a.at(t, "totalSize") != 1.0 || a.at(t, "tasks.0.id") != mine["id"] {
			t.Errorf("%s", a.body)
		}
	}},
	{"AUTH-SCOPE-003", "MUST", "tasks of other callers and missing tasks have the same answer", wireForeign},
	{"PUSH-CREATE-001", "MUST", "a push configuration is made, and given back with its id",
		func(t *testing.T, w *wireWorld) {
			a := w.call("CreateTaskPushNotificationConfig", object{"taskId": w.task("m1", "hello")["id"], "url": w.push.URL})
			if id, _ := a.at(t, "id").(string); id == "" || a.at(t, "url") != w.push.URL {
				t.Errorf("%s", a.body)
			}
		}},
	{"PUSH-CREATE-002", "MUST", "it exists until the task is finished or it is deleted",
		func(t *testing.T, w *wireWorld) {
			task := w.task("m1", "ask")["id"]
			w.call("CreateTaskPushNotificationConfig", object{"taskId": task, "id": "c", "url": w.push.URL})
			w.task("m2", "ask", "taskId", task)
			if a := w.call("GetTaskPushNotificationConfig", object{"taskId": task, "id": "c"}); a.at(t, "id") != "c" {
				t.Errorf("%s", a.body)
			}
		}},
	{"PUSH-GET-001", "MUST", "a configuration is given with its URL", wirePushList},
	{"PUSH-GET-002", "MUST", "one that is not there is refused", func(t *testing.T, w *wireWorld) {
		w.refused(w.call("GetTaskPushNotificationConfig", object{"taskId": w.task("m1", "ask")["id"], "id": "c"}),
			"TASK_NOT_FOUND")
	}},
	{"PUSH-LIST-001", "MUST", "all configurations of a task are listed", wirePushList},
	{"PUSH-DEL-001", "MUST", "a configuration that is deleted is there no more", wirePushDelete},
	{"PUSH-DEL-002", "MUST", "it can be deleted again", wirePushDelete},
	{"PUSH-DELIVER-001", "MUST", "a webhook is called with the credentials of its configuration", wirePushNotifications},
	{"PUSH-DELIVER-002", "MUST", "a webhook receives each update at least once", wirePushNotifications},
	{"PUSH-DELIVER-003", "MUST", "each delivery is a StreamResponse with one member", wirePushNotifications},
	{"BIND-EQUIV-001", "MUST", "both bindings have all operations", func(t *testing.T, w *wireWorld) {
		task := w.task("m1", "ask")
		w.call("CancelTask", wireParams(w, "CancelTask", task["id"])) // a stream of an ended task does not stay open
		for method := range wireRoutes {
			if a := w.call(method, wireParams(w, method, task["id"])); a.reason == "METHOD_NOT_FOUND" || a.status == 404 &&
				!strings.HasPrefix(method, "GetTaskPush") {
				t.Errorf("%s: HTTP %d %s", method, a.status, a.body)
			}
		}
	}},
	{"BIND-EQUIV-002", "MUST", "both bindings return the same", func(t *testing.T, w *wireWorld) {
		task := w.task("m1", "hello")
		for method, p := range map[string]object{"GetTask": {"id": task["id"]}, "ListTasks": {"includeArtifacts": true},
			"SendMessage": w.says("m1", "hello"), "GetExtendedAgentCard": {}} {
			one := w.call(method, p)
			w.rest = !w.rest
			two := w.call(method, p)
			if w.rest = !w.rest; one.result == nil || fmt.Sprint(one.result) != fmt.Sprint(two.result) {
				t.Errorf("%s: %v and %v", method, one.result, two.result)
			}
		}
	}},
	{"BIND-EQUIV-003", "MUST", "both bindings refuse the same", func(t *testing.T, w *wireWorld) {
		done := w.task("m1", "hello")["id"]
		for reason, ask := range map[string]func() *wireAnswer{
			"TASK_NOT_FOUND":        func() *wireAnswer { return w.call("GetTask", object{"id": "none"}) },
			"TASK_NOT_CANCELABLE":   func() *wireAnswer { return w.call("CancelTask", object{"id": done}) },
			"UNSUPPORTED_OPERATION": func() *wireAnswer { return w.call("SubscribeToTask", object{"id": done}) },
			"VERSION_NOT_SUPPORTED": func() *wireAnswer {
				return w.call("GetTask", object{"id": done}, versionHeader,
					"99.0")
			},
			"INVALID_PARAMS": func() *wireAnswer { return w.call("ListTasks", object{"pageSize": -1}) },
			"CONTENT_TYPE_NOT_SUPPORTED": func() *wireAnswer {
				return w.call("SendMessage", w.says("m2", "hello"),
					"Content-Type", "text/plain")
			},
		} {
			w.refused(ask(), reason)
			w.rest = !w.rest
			w.refused(ask(), reason)
			w.rest = !w.rest
		}
	}},
	{"BIND-EQUIV-004", "MUST", "both bindings take the tokens that the card names", func(t *testing.T, w *wireWorld) {
		card := (&frontWorld{t: t}).do("GET", w.url+cardPath, "", versionHeader, "1.0")
		if card.json(t, "securitySchemes.bearer.httpAuthSecurityScheme.scheme") != "Bearer" {
			t.Errorf("%s", card.body)
		}
		if a := w.call("ListTasks", object{}); a.result == nil {
			t.Errorf("%s", a.body)
		}
		w.refused(w.callAs("", "ListTasks", object{}), "UNAUTHENTICATED")
	}},
	{"BIND-FIELD-001", "MUST", "the card names each binding that is spoken", func(t *testing.T, w *wireWorld) {
		card := (&frontWorld{t: t}).do("GET", w.url+cardPath, "", versionHeader, "1.0")
		var named []string
		for i := range 4 {
			named = append(named, fmt.Sprint(card.json(t, fmt.Sprintf("supportedInterfaces.%d.protocolBinding", i)), " ",
				card.json(t, fmt.Sprintf("supportedInterfaces.%d.protocolVersion", i))))
		}
		for name, rest := range bindings {
			if rest == w.rest && (!slices.Contains(named, name+" 1.0") || !slices.Contains(named, name+" 0.3")) {
				t.Errorf("%s is not among %q", name, named)
			}
		}
	}},
}

// wireWords are texts with which bot creates tasks with different ends.
var wireWords = []string{"hello", "ask", "auth", "fail", "reject", "pass", "close"}

// wireParams returns parameters of a method for a task.
func wireParams(w *wireWorld, method string, task any) object {
	switch {
	case strings.HasPrefix(method, "Send"):
		return w.says("m-"+method, "hello")
	case method == "CreateTaskPushNotificationConfig":
		return object{"taskId": task, "url": w.push.URL}
	case method == "ListTaskPushNotificationConfigs":
		return object{"taskId": task}
	case strings.Contains(method, "Push"):
		return object{"taskId": task, "id": "c"}
	case method == "ListTasks", method == "GetExtendedAgentCard":
		return object{}
	}
	return object{"id": task}
}
