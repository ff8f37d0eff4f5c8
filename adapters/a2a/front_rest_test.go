package a2a

import (
	"encoding/base64"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// The message of 0.3 over HTTP+JSON in the JSON of its Protocol Buffers.
const messageProto = `{"messageId":"m1","role":"ROLE_USER","content":[{"text":"hello"}]}`

func TestRESTRoutes(t *testing.T) {
	w := newFrontWorld(t, nil)
	five, none := 5, 0
	at := time.Date(2026, 11, 20, 1, 2, 3, 0, time.UTC)
	send := &a2a.SendMessageRequest{Message: plainMessage()}
	hook := &a2a.PushConfig{TaskID: "t.1", ID: "c", URL: "u"}
	for _, c := range []struct {
		verb, path, body string
		want             any
	}{
		{"POST", "/message:send", `{"message":` + message10 + `}`, send},
		{"POST", "/message:stream", `{"message":` + message10 + `}`, send},
		{"GET", "/tasks/t.1", "", &a2a.GetTaskRequest{ID: "t.1"}},
		{"GET", "/tasks/t.1?historyLength=0", "", &a2a.GetTaskRequest{ID: "t.1", HistoryLength: &none}},
		{"GET", "/tasks/t.1?history_length=5&extra=1&id=other", "", &a2a.GetTaskRequest{ID: "t.1", HistoryLength: &five}},
		{"GET", "/tasks", "", &a2a.ListTasksRequest{}},
		{"GET", "/tasks?contextId=x&status=TASK_STATE_WORKING&pageSize=5&pageToken=p&historyLength=0" +
			"&statusTimestampAfter=2026-11-20T01:02:03Z&includeArtifacts=true", "",
			&a2a.ListTasksRequest{ContextID: "x", Status: a2a.TaskStateWorking, PageSize: 5, PageToken: "p",
				HistoryLength: &none, StatusTimestampAfter: &at, IncludeArtifacts: true}},
		{"GET", "/tasks?context_id=x&page_size=5&page_token=p&include_artifacts=true", "",
			&a2a.ListTasksRequest{ContextID: "x", PageSize: 5, PageToken: "p", IncludeArtifacts: true}},
		{"POST", "/tasks/t.1:cancel", "", &a2a.CancelTaskRequest{ID: "t.1"}},
		{"POST", "/tasks/t.1:cancel", "null", &a2a.CancelTaskRequest{ID: "t.1"}},
		{"POST", "/tasks/t.1%3Acancel", `{"metadata":{"a":"b"}}`, &a2a.CancelTaskRequest{ID: "t.1",
			Metadata: map[string]any{"a": "b"}}},
		{"POST", "/tasks/t.1:subscribe", "", &a2a.SubscribeToTaskRequest{ID: "t.1"}},
		{"GET", "/tasks/t.1:subscribe", "", &a2a.SubscribeToTaskRequest{ID: "t.1"}},
		{"POST", "/tasks/t.1/pushNotificationConfigs", `{"id":"c","url":"u"}`, hook},
		{"POST", "/tasks/t.1/pushNotificationConfigs", `{"id":"c","url":"u","task_id":"t.1"}`, hook},
		{"GET", "/tasks/t.1/pushNotificationConfigs", "", &a2a.ListTaskPushConfigRequest{TaskID: "t.1"}},
		{"GET", "/tasks/t.1/pushNotificationConfigs?page_size=5", "", &a2a.ListTaskPushConfigRequest{TaskID: "t.1",
			PageSize: 5}},
		{"GET", "/tasks/t.1/pushNotificationConfigs/c%2Fd", "", &a2a.GetTaskPushConfigRequest{TaskID: "t.1", ID: "c/d"}},
		{"DELETE", "/tasks/t.1/pushNotificationConfigs/c", "", &a2a.DeleteTaskPushConfigRequest{TaskID: "t.1", ID: "c"}},
		{"POST", "/v1/message:send", `{"message":` + messageProto + `}`, send},
		{"POST", "/v1/message:send", `{"request":{"message_id":"m1","role":"ROLE_USER","content":[{"text":"hello"}]}}`, send},
		{"POST", "/v1/message:stream", `{"message":` + messageProto + `}`, send},
		{"GET", "/v1/tasks/t.1?history_length=5", "", &a2a.GetTaskRequest{ID: "t.1", HistoryLength: &five}},
		{"GET", "/v1/tasks?status=TASK_STATE_CANCELLED&lastUpdatedAfter=2026-11-20T01:02:03Z", "",
			&a2a.ListTasksRequest{Status: a2a.TaskStateCanceled, StatusTimestampAfter: &at}},
		{"POST", "/v1/tasks/t.1:cancel", "", &a2a.CancelTaskRequest{ID: "t.1"}},
		{"GET", "/v1/tasks/t.1:subscribe", "", &a2a.SubscribeToTaskRequest{ID: "t.1"}},
		{"POST", "/v1/tasks/t.1:subscribe", "", &a2a.SubscribeToTaskRequest{ID: "t.1"}},
		{"POST", "/v1/tasks/t.1/pushNotificationConfigs",
			`{"config":{"name":"n","pushNotificationConfig":{"id":"c","url":"u"}}}`, hook},
		{"POST", "/v1/tasks/t.1/pushNotificationConfigs", `{"name":"n","push_notification_config":{"id":"c","url":"u"}}`,
			hook},
		{"GET", "/v1/tasks/t.1/pushNotificationConfigs", "", &a2a.ListTaskPushConfigRequest{TaskID: "t.1"}},
		{"GET", "/v1/tasks/t.1/pushNotificationConfigs/c", "", &a2a.GetTaskPushConfigRequest{TaskID: "t.1", ID: "c"}},
		{"DELETE", "/v1/tasks/t.1/pushNotificationConfigs/c", "", &a2a.DeleteTaskPushConfigRequest{TaskID: "t.1", ID: "c"}},
	} {
		r := w.do(c.verb, w.url+c.path, c.body)
		got, from, _ := w.methods.take()
		if r.status != http.StatusOK || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s %s: HTTP %d, asked %#v and not %#v: %s", c.verb, c.path, r.status, got, c.want, r.body)
		}
		if from.legacy != strings.HasPrefix(c.path, "/v1/") {
			t.Errorf("%s %s: legacy %v", c.verb, c.path, from.legacy)
		}
	}
}

func TestRESTRefused(t *testing.T) {
	w := newFrontWorld(t, nil)
	for _, c := range []struct {
		verb, path, body string
		status           int
		allow            string
	}{
		{"GET", "/nonsense", "", 404, ""}, {"GET", "/message:sent", "", 404, ""}, {"GET", "/tasks/", "", 404, ""},
		{"GET", "/tasks/t/x", "", 404, ""},
		{"GET", "/tasks//pushNotificationConfigs", "", 404, ""}, {"POST", "/tasks/t:stop", "", 404, ""},
		{"POST", "/tasks/:cancel", "", 404, ""},
		{"GET", "/tasks/t/pushNotificationConfigs/c/d", "", 404, ""}, {"GET", "/v2/tasks", "", 404, ""},
		{"GET", "/v1/extendedAgentCard", "", 404, ""},
		{"GET", "/card", "", 404, ""}, {"GET", "/v1/v1/tasks", "", 404, ""}, {"GET", "/v1", "", 404, ""},
		{"GET", "/tenant/tasks", "", 404, ""},
		{"GET", "/message:send", "", 405, "POST"}, {"DELETE", "/tasks/t", "", 405, "GET"}, {"GET", "/tasks/t:cancel", "", 405,
			"POST"},
		{"PUT", "/tasks/t:subscribe", "", 405, "GET, POST"}, {"POST", "/tasks", `{}`, 405, "GET"},
		{"POST", "/v1/tasks/t/pushNotificationConfigs/c", `{}`, 405, "DELETE, GET"},
		{"POST", "/message:send", "", 400, ""}, {"POST", "/message:send", `{`, 400, ""}, {"POST", "/message:send", `[]`, 400,
			""}, {"POST", "/message:send", `{}`, 400, ""},
		{"POST", "/v1/message:send", `{"message":{"messageId":"m","content":[{"file":{"fileWithBytes":"!"}}]}}`, 400, ""},
		{"POST", "/v1/message:send", `{"message":{"messageId":"m","content":[{}]}}`, 400, ""}, {"POST", "/v1/message:send",
			`{"message":{"messageId":"m","content":[null]}}`, 400, ""},
		{"GET", "/tasks?pageSize=x", "", 400, ""}, {"GET", "/tasks?includeArtifacts=perhaps", "", 400, ""},
		{"GET", "/tasks?pageSize=1&page_size=1", "", 400, ""},
		{"GET", "/tasks/t?historyLength=-1", "", 400, ""}, {"GET", "/tasks?statusTimestampAfter=yesterday", "", 400, ""},
		{"POST", "/tasks/t/pushNotificationConfigs", `{"url":"u","taskId":"another"}`, 400, ""}, {"POST", "/tasks/t:cancel",
			`{"id":"another"}`, 400, ""},
	} {
		r := w.do(c.verb, w.url+c.path, c.body)
		if r.status != c.status || r.header.Get("Allow") != c.allow {
			t.Errorf("%s %s %s: HTTP %d, Allow %q: %s", c.verb, c.path, c.body, r.status, r.header.Get("Allow"), r.body)
		}
		if code, _ := r.json(t, "error.code").(float64); int(code) != c.status {
			t.Errorf("%s %s: the body says %v", c.verb, c.path, code)
		}
		if got, _, _ := w.methods.take(); got != nil {
			t.Errorf("%s %s: the methods were asked %+v", c.verb, c.path, got)
		}
	}
}

// A response has the media type of the client.
func TestRESTMedia(t *testing.T) {
	w := newFrontWorld(t, nil)
	send := `{"message":` + message10 + `}`
	for _, c := range []struct {
		verb, path, body string
		headers          []string
		want             string
	}{
		{"POST", "/message:send", send, nil, "application/json"},
		{"POST", "/message:send", send, []string{"Content-Type", "application/a2a+json; charset=utf-8"},
			"application/a2a+json"},
		{"POST", "/message:send", `{}`, []string{"Content-Type", "application/a2a+json"}, "application/a2a+json"},
		{"GET", "/tasks/t", "", []string{"Accept", "application/a2a+json, application/json"}, "application/a2a+json"},
		{"GET", "/tasks/t", "", nil, "application/json"},
	} {
		if r := w.do(c.verb, w.url+c.path, c.body, c.headers...); r.header.Get("Content-Type") != c.want {
			t.Errorf("%s %s %v: %q", c.verb, c.path, c.headers, r.header.Get("Content-Type"))
		}
	}
	for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", "", "nonsense/;",
		"application/xml"} {
		r := w.do("POST", w.url+"/message:send", send, "Content-Type", media)
		if r.status != http.StatusUnsupportedMediaType || !strings.Contains(r.body, "CONTENT_TYPE_NOT_SUPPORTED") {
			t.Errorf("%q: HTTP %d %s", media, r.status, r.body)
		}
		if r := w.do("POST", w.url, `{"jsonrpc":"2.0","id":1,"method":"ListTasks"}`, "Content-Type",
			media); r.code(t) != -32005 || r.status != http.StatusOK {
			t.Errorf("JSON-RPC, %q: HTTP %d %s", media, r.status, r.body)
		}
	}
	if r := w.do("POST", w.url, `{"jsonrpc":"2.0","id":1,"method":"ListTasks"}`, "Content-Type",
		`Application/JSON; charset="utf-8"`); r.code(t) != 0 {
		t.Errorf("JSON with a parameter: %s", r.body)
	}
}

// The bytes of a file arrive as base64 of base64, or as base64, with the same result.
func TestRESTFilesOf03(t *testing.T) {
	w := newFrontWorld(t, nil)
	raw := []byte{0, 255, 7, '\n'}
	once := base64.StdEncoding.EncodeToString(raw)
	for _, sent := range []string{once, base64.StdEncoding.EncodeToString([]byte(once))} {
		w.do("POST", w.url+"/v1/message:send",
			`{"message":{"messageId":"m","role":"ROLE_USER","content":[{"file":{"fileWithBytes":"`+sent+`","mimeType":"a/b",`+
				`"name":"n"}}]}}`)
		got, _, _ := w.methods.take()
		q, is := got.(*a2a.SendMessageRequest)
		if !is || len(q.Message.Parts) != 1 || string(q.Message.Parts[0].Raw()) != string(raw) ||
			q.Message.Parts[0].Filename != "n" {
			t.Errorf("%s: asked %+v", sent, got)
		}
	}
}
