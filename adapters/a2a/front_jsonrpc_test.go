package a2a

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

func TestRPCMethods(t *testing.T) {
	w := newFrontWorld(t, nil)
	const (
		send10, send03 = `{"message":` + message10 + `}`, `{"message":` + message03 + `}`
		hook           = `"url":"https://example.com/hook"`
	)
	for _, c := range []struct {
		version, method, params string
		want                    any
	}{
		{"1.0", "SendMessage", send10, &a2a.SendMessageRequest{}},
		{"1.0", "SendStreamingMessage", send10, &a2a.SendMessageRequest{}},
		{"1.0", "GetTask", `{"id":"t"}`, &a2a.GetTaskRequest{}},
		{"1.0", "ListTasks", `{}`, &a2a.ListTasksRequest{}},
		{"1.0", "CancelTask", `{"id":"t"}`, &a2a.CancelTaskRequest{}},
		{"1.0", "SubscribeToTask", `{"id":"t"}`, &a2a.SubscribeToTaskRequest{}},
		{"1.0", "CreateTaskPushNotificationConfig", `{"taskId":"t",` + hook + `}`, &a2a.PushConfig{}},
		{"1.0", "GetTaskPushNotificationConfig", `{"taskId":"t","id":"c"}`, &a2a.GetTaskPushConfigRequest{}},
		{"1.0", "ListTaskPushNotificationConfigs", `{"taskId":"t"}`, &a2a.ListTaskPushConfigRequest{}},
		{"1.0", "DeleteTaskPushNotificationConfig", `{"taskId":"t","id":"c"}`, &a2a.DeleteTaskPushConfigRequest{}},
		{"0.3", "message/send", send03, &a2a.SendMessageRequest{}},
		{"0.3", "message/stream", send03, &a2a.SendMessageRequest{}},
		{"0.3", "tasks/get", `{"id":"t"}`, &a2a.GetTaskRequest{}},
		{"0.3", "tasks/cancel", `{"id":"t"}`, &a2a.CancelTaskRequest{}},
		{"0.3", "tasks/resubscribe", `{"id":"t"}`, &a2a.SubscribeToTaskRequest{}},
		{"0.3", "tasks/pushNotificationConfig/set", `{"taskId":"t","pushNotificationConfig":{` + hook + `}}`,
			&a2a.PushConfig{}},
		{"0.3", "tasks/pushNotificationConfig/get", `{"id":"t","pushNotificationConfigId":"c"}`,
			&a2a.GetTaskPushConfigRequest{}},
		{"0.3", "tasks/pushNotificationConfig/list", `{"id":"t"}`, &a2a.ListTaskPushConfigRequest{}},
		{"0.3", "tasks/pushNotificationConfig/delete", `{"id":"t","pushNotificationConfigId":"c"}`,
			&a2a.DeleteTaskPushConfigRequest{}},
	} {
		for _, headers := range [][]string{{versionHeader, c.version}, nil} {
			r := w.rpc(c.method, c.params, headers...)
			got, from, _ := w.methods.take()
			if r.status != http.StatusOK || reflect.TypeOf(got) != reflect.TypeOf(c.want) {
				t.Errorf("%s %v: HTTP %d, asked %T: %s", c.method, headers, r.status, got, r.body)
			}
			if from.legacy != (c.version == "0.3") || from.agent == nil || from.agent.Name != "echo" || from.client == nil {
				t.Errorf("%s %v: the caller is %+v", c.method, headers, from)
			}
		}
	}
	for method, other := range map[string]string{"SendMessage": "0.3", "message/send": "1.0", "ListTasks": "0.3",
		"tasks/list": "0.3", "nonsense": "1.0", "tasks/list/": ""} {
		if r := w.rpc(method, `{}`, versionHeader, other); r.code(t) != -32601 || r.status != http.StatusOK {
			t.Errorf("%s in %s: %s", method, other, r.body)
		}
	}
}

// A response has the version of its request.
func TestRPCShapes(t *testing.T) {
	w := newFrontWorld(t, nil)
	for _, c := range []struct {
		method, params, path string
		want                 any
	}{
		{"SendMessage", `{"message":` + message10 + `}`, "result.task.status.state", "TASK_STATE_COMPLETED"},
		{"SendMessage", `{"message":` + message10 + `}`, "result.kind", nil},
		{"GetTask", `{"id":"t"}`, "result.status.state", "TASK_STATE_COMPLETED"},
		{"GetTask", `{"id":"t"}`, "result.history.0.role", "ROLE_USER"},
		{"ListTasks", `{}`, "result.nextPageToken", ""},
		{"DeleteTaskPushNotificationConfig", `{"taskId":"t","id":"c"}`, "error", nil},
		{"message/send", `{"message":` + message03 + `}`, "result.kind", "task"},
		{"message/send", `{"message":` + message03 + `}`, "result.status.state", "completed"},
		{"tasks/get", `{"id":"t"}`, "result.history.0.role", "user"},
		{"tasks/get", `{"id":"t"}`, "result.history.0.parts.0.kind", "text"},
		{"tasks/pushNotificationConfig/get", `{"id":"t","pushNotificationConfigId":"c"}`, "result.pushNotificationConfig.id",
			"c"},
	} {
		if got := w.rpc(c.method, c.params).json(t, c.path); got != c.want {
			t.Errorf("%s: %s is %v and not %v", c.method, c.path, got, c.want)
		}
	}
	for _, want := range []struct{ method, params, has string }{
		{"ListTasks", `{}`, `"tasks":[]`},
		{"ListTaskPushNotificationConfigs", `{"taskId":"t"}`, `"configs":[]`},
		{"DeleteTaskPushNotificationConfig", `{"taskId":"t","id":"c"}`, `"result":{}`},
		{"tasks/pushNotificationConfig/list", `{"id":"t"}`, `"result":[]`},
		{"tasks/pushNotificationConfig/delete", `{"id":"t","pushNotificationConfigId":"c"}`, `"result":null`},
	} {
		if r := w.rpc(want.method, want.params); !strings.Contains(r.body, want.has) {
			t.Errorf("%s: %s", want.method, r.body)
		}
	}
}

func TestRPCEnvelope(t *testing.T) {
	w := newFrontWorld(t, nil)
	deep := strings.Repeat("[", 100) + strings.Repeat("]", 100)
	for _, c := range []struct {
		name, body string
		code       int
		id         string
	}{
		{"nothing", ``, -32700, "null"},
		{"not JSON", `{"jsonrpc":`, -32700, "null"},
		{"not UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", -32700, "null"},
		{"two values", `{} {}`, -32700, "null"},
		{"deep", `{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"x":` + deep + `}}`, -32700, "null"},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"}}]`, -32600, "null"},
		{"an empty batch", `[]`, -32600, "null"},
		{"a text", `"x"`, -32600, "null"},
		{"a notification", `{"jsonrpc":"2.0","method":"GetTask","params":{"id":"t"}}`, -32600, "null"},
		{"an id that is an object", `{"jsonrpc":"2.0","id":{},"method":"GetTask"}`, -32600, "null"},
		{"an id that is true", `{"jsonrpc":"2.0","id":true,"method":"GetTask"}`, -32600, "null"},
		{"a long id", fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":"GetTask"}`, strings.Repeat("x", 200)), -32600, "null"},
		{"version 1.0", `{"jsonrpc":"1.0","id":7,"method":"GetTask"}`, -32600, "7"},
		{"no version", `{"id":7,"method":"GetTask"}`, -32600, "7"},
		{"no method", `{"jsonrpc":"2.0","id":7}`, -32600, "7"},
		{"a method that is a number", `{"jsonrpc":"2.0","id":7,"method":1}`, -32600, "7"},
		{"a member twice", `{"jsonrpc":"2.0","id":7,"method":"GetTask","method":"ListTasks"}`, -32600, "7"},
		{"params that are a list", `{"jsonrpc":"2.0","id":7,"method":"GetTask","params":["t"]}`, -32602, "7"},
		{"params that are a text", `{"jsonrpc":"2.0","id":7,"method":"message/send","params":"t"}`, -32602, "7"},
		{"no params", `{"jsonrpc":"2.0","id":7,"method":"GetTask"}`, -32602, "7"},
		{"null params", `{"jsonrpc":"2.0","id":7,"method":"GetTask","params":null}`, -32602, "7"},
		{"no such method", `{"jsonrpc":"2.0","id":"a","method":"Get"}`, -32601, `"a"`},
	} {
		r := w.do(http.MethodPost, w.url, c.body, "Content-Type", "application/json")
		if r.code(t) != c.code || !strings.Contains(r.body, `"id":`+c.id+`,`) || r.status != http.StatusOK {
			t.Errorf("%s: HTTP %d %s", c.name, r.status, r.body)
		}
		if got, _, _ := w.methods.take(); got != nil {
			t.Errorf("%s: the methods were asked %+v", c.name, got)
		}
	}
	for _, id := range []string{`1`, `-1`, `1.50`, `12345678901234567890123`, `"x"`, `""`, `"\u00e9<&"`, `null`} {
		r := w.do(http.MethodPost, w.url, `{"jsonrpc":"2.0","extra":[1],"id":`+id+`,"method":"GetTask","params":{"id":"t"}}`)
		if !strings.Contains(r.body, `"id":`+id+`,"result"`) && id != `"\u00e9<&"` || r.code(t) != 0 {
			t.Errorf("id %s: %s", id, r.body)
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete, http.MethodPut} {
		if r := w.do(method, w.url, ""); r.status != http.StatusMethodNotAllowed || r.header.Get("Allow") != "POST" {
			t.Errorf("%s: HTTP %d, Allow %q", method, r.status, r.header.Get("Allow"))
		}
	}
	if r := w.do(http.MethodPost, w.base+"/a2a/nobody",
		`{"jsonrpc":"2.0","id":1,"method":"ListTasks"}`); r.status != http.StatusNotFound {
		t.Errorf("an agent that is not there: HTTP %d", r.status)
	}
}

func TestParams(t *testing.T) {
	w := newFrontWorld(t, nil)
	five, none := 5, 0
	message := &a2a.Message{ID: "m1", ContextID: "x", TaskID: "t", Role: a2a.MessageRoleUser,
		ReferenceTasks: []a2a.TaskID{"a.1"},
		Metadata:       map[string]any{"task_id": "as it is", "taskId": "too"},
		Parts: a2a.ContentParts{
			{Content: a2a.Text("hello"), MediaType: "text/plain"},
			{Content: a2a.Data{Value: map[string]any{"media_type": "as it is", "mediaType": "too"}}},
			{Content: a2a.Raw("hello"), Filename: "a_b"},
		}}
	for _, c := range []struct {
		name, method, params string
		want                 any
	}{
		{"camelCase", "SendMessage", `{"message":{"messageId":"m1","contextId":"x","taskId":"t",
			"role":"ROLE_USER","referenceTaskIds":["a.1"],
			"metadata":{"task_id":"as it is","taskId":"too"},
			"parts":[{"text":"hello","mediaType":"text/plain"},
			{"data":{"media_type":"as it is","mediaType":"too"}},{"raw":"aGVsbG8=","filename":"a_b"}]},
			"configuration":{"historyLength":0,"returnImmediately":true,"acceptedOutputModes":["a"]}}`,
			&a2a.SendMessageRequest{Message: message, Config: &a2a.SendMessageConfig{HistoryLength: &none,
				ReturnImmediately: true, AcceptedOutputModes: []string{"a"}}}},
		{"snake_case", "SendMessage", `{"message":{"message_id":"m1","context_id":"x","task_id":"t",
			"role":"ROLE_USER","reference_task_ids":["a.1"],
			"metadata":{"task_id":"as it is","taskId":"too"},
			"parts":[{"text":"hello","media_type":"text/plain"},
			{"data":{"media_type":"as it is","mediaType":"too"}},{"raw":"aGVsbG8=","filename":"a_b"}]},
			"configuration":{"history_length":0,"return_immediately":true,"accepted_output_modes":["a"]}}`,
			&a2a.SendMessageRequest{Message: message, Config: &a2a.SendMessageConfig{HistoryLength: &none,
				ReturnImmediately: true, AcceptedOutputModes: []string{"a"}}}},
		{"snake_case, a push configuration inside", "SendMessage", `{"message":` + message10 +
			`,"configuration":{"task_push_notification_config":{"task_id":"t","url":"u","authentication":{"scheme":"s"}}}}`,
			&a2a.SendMessageRequest{Message: plainMessage(),
				Config: &a2a.SendMessageConfig{PushConfig: &a2a.PushConfig{TaskID: "t", URL: "u",
					Auth: &a2a.PushAuthInfo{Scheme: "s"}}}}},
		{"snake_case of GetTask", "GetTask", `{"id":"t","history_length":5}`, &a2a.GetTaskRequest{ID: "t",
			HistoryLength: &five}},
		{"snake_case of ListTasks", "ListTasks", `{"context_id":"x","page_size":5,"page_token":"p","include_artifacts":true}`,
			&a2a.ListTasksRequest{ContextID: "x", PageSize: 5, PageToken: "p", IncludeArtifacts: true}},
		{"unknown and null members", "GetTask", `{"id":"t","ID":"u","Id":{},"historyLength":null,"history_Length":-1,` +
			`"extra":{"id":"v"}}`, &a2a.GetTaskRequest{ID: "t"}},
		{"0.3", "message/send", `{"message":` + message03 +
			`,"configuration":{"blocking":false,"pushNotificationConfig":{"id":"c","url":"u",` +
			`"authentication":{"schemes":["Bearer"],"credentials":"k"}}}}`,
			&a2a.SendMessageRequest{Message: plainMessage(), Config: &a2a.SendMessageConfig{ReturnImmediately: true,
				PushConfig: &a2a.PushConfig{ID: "c", URL: "u", Auth: &a2a.PushAuthInfo{Scheme: "Bearer", Credentials: "k"}}}}},
		{"0.3 that blocks", "message/send", `{"message":` + message03 + `,"configuration":{"blocking":true}}`,
			&a2a.SendMessageRequest{Message: plainMessage(), Config: &a2a.SendMessageConfig{}}},
		{"0.3 says nothing of blocking", "message/send", `{"message":` + message03 + `,"configuration":{}}`,
			&a2a.SendMessageRequest{Message: plainMessage(), Config: &a2a.SendMessageConfig{}}},
		{"0.3, snake_case", "message/send", `{"message":{"message_id":"m1","role":"user","parts":[{"kind":"text",` +
			`"text":"hello"}]}}`, &a2a.SendMessageRequest{Message: plainMessage()}},
		{"0.3, files", "message/send", `{"message":{"messageId":"m1","role":"user","parts":[{"kind":"file",` +
			`"file":{"bytes":"aGVsbG8=","mimeType":"a/b","name":"n"}},{"kind":"file","file":{"fileWithUri":"http://u"}}]}}`,
			&a2a.SendMessageRequest{Message: &a2a.Message{ID: "m1", Role: a2a.MessageRoleUser,
				Parts: a2a.ContentParts{{Content: a2a.Raw("hello"), MediaType: "a/b", Filename: "n"},
					{Content: a2a.URL("http://u")}}}}},
	} {
		r := w.rpc(c.method, c.params)
		if got, _, _ := w.methods.take(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: asked\n%#v and not\n%#v: %s", c.name, got, c.want, r.body)
		}
	}
	for _, c := range []struct{ name, method, params, words string }{
		{"both spellings", "GetTask", `{"id":"t","historyLength":1,"history_length":1}`, "duplicate member historyLength"},
		{"twice", "GetTask", `{"id":"t","id":"t"}`, "duplicate member id"},
		{"both spellings, inside", "SendMessage", `{"message":{"messageId":"m","message_id":"m"}}`,
			"duplicate member message.messageId"},
		{"both spellings, in a list", "SendMessage",
			`{"message":{"parts":[{"text":"a"},{"mediaType":"a/b","media_type":"a/b"}]}}`,
			"duplicate member message.parts[1].mediaType"},
		{"no message", "SendMessage", `{}`, "message is missing"},
		{"a message that is a text", "SendMessage", `{"message":"x"}`, "message"},
		{"a part that is null", "SendMessage", `{"message":{"parts":[null]}}`, "parts[0]"},
		{"a part without content", "SendMessage", `{"message":{"parts":[{"filename":"x"}]}}`, "part"},
		{"a part with two", "SendMessage", `{"message":{"parts":[{"text":"x","url":"y"}]}}`, "exactly one"},
		{"raw that is no base64", "SendMessage", `{"message":{"parts":[{"raw":"!"}]}}`, ""},
		{"no id", "GetTask", `{}`, "id is missing"},
		{"an id that is a number", "GetTask", `{"id":5}`, "invalid type of id: number"},
		{"a negative history", "GetTask", `{"id":"t","historyLength":-1}`, "historyLength"},
		{"a time that is none", "ListTasks", `{"statusTimestampAfter":"yesterday"}`, ""},
		{"no url", "CreateTaskPushNotificationConfig", `{"taskId":"t"}`, "url is missing"},
		{"0.3, no message", "message/send", `{"configuration":{"pushNotificationConfig":{"url":"u"}}}`, "message is missing"},
		{"0.3, no base64", "message/send", `{"message":{"messageId":"m","role":"user","parts":[{"kind":"file",` +
			`"file":{"bytes":"!"}}]}}`, "not base64"},
		{"0.3, a part of no kind", "message/send", `{"message":{"messageId":"m","role":"user","parts":[{"text":"x"}]}}`, ""},
	} {
		r := w.rpc(c.method, c.params)
		if got, _, _ := w.methods.take(); got != nil || r.code(t) != -32602 || !strings.Contains(r.body, c.words) {
			t.Errorf("%s: asked %+v: %s", c.name, got, r.body)
		}
	}
}

func plainMessage() *a2a.Message {
	return &a2a.Message{ID: "m1", Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.NewTextPart("hello")}}
}

// blocking has no effect in a request of 1.0, and the log says so.
func TestBlockingIsIgnored(t *testing.T) {
	w := newFrontWorld(t, nil)
	w.rpc("SendMessage", `{"message":`+message10+`,"configuration":{"blocking":false}}`)
	got, _, _ := w.methods.take()
	if q, is := got.(*a2a.SendMessageRequest); !is || q.Config.ReturnImmediately {
		t.Errorf("asked %+v", got)
	}
	if !strings.Contains(w.log.String(), "returnImmediately") {
		t.Errorf("the log says nothing: %q", w.log)
	}
}

// FuzzParams checks that canonical parameters are stable, and that no input panics.
func FuzzParams(f *testing.F) {
	for _, s := range []string{`{"message":` + message10 + `}`, `{"message":{"parts":[{"text":null},[],{}]},"message":{}}`,
		`{"configuration":{"task_push_notification_config":[{"task_id":1}]}}`, `[]`, `null`} {
		f.Add([]byte(s))
	}
	w := &httpServer{log: newTestLog()}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if checkJSON(raw) != nil {
			t.Skip("no JSON")
		}
		for o, shape := range shapes {
			once, err := shape.canonical("", raw)
			if err != nil {
				continue
			}
			twice, err := shape.canonical("", once)
			if err != nil || string(twice) != string(once) {
				t.Errorf("%s is %s, and that is %s, %v", raw, once, twice, err)
			}
			if req, err := w.decode(o, raw); err == nil {
				_ = checkRequired(req)
			}
		}
		for o := range legacyShapes {
			if req, err := decodeLegacy(o, raw); err == nil {
				_ = checkRequired(req)
			}
		}
		for _, o := range []operation{opSend, opPushCreate} {
			if req, err := decodeLegacyREST(o, raw, "t"); err == nil {
				_ = checkRequired(req)
			}
		}
	})
}
