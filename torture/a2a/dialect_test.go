package a2a

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// dialect is a way to say the same: a binding in a version.
type dialect struct {
	name         string
	legacy, rest bool
}

var dialects = []*dialect{
	{name: "1.0 JSON-RPC"}, {name: "1.0 REST", rest: true}, {name: "0.3 JSON-RPC", legacy: true},
	{name: "0.3 REST", legacy: true, rest: true},
}

// operation is one of the protocol.
type operation string

const (
	opSend       operation = "send"
	opStream     operation = "stream"
	opGet        operation = "get"
	opList       operation = "list"
	opCancel     operation = "cancel"
	opSubscribe  operation = "subscribe"
	opPushCreate operation = "push create"
	opPushGet    operation = "push get"
	opPushList   operation = "push list"
	opPushDelete operation = "push delete"
)

// rpcMethods are the names in 1.0 and 0.3; a dash is one that there is not.
var rpcMethods = map[operation][2]string{
	opSend:       {"SendMessage", "message/send"},
	opStream:     {"SendStreamingMessage", "message/stream"},
	opGet:        {"GetTask", "tasks/get"},
	opList:       {"ListTasks", "-"},
	opCancel:     {"CancelTask", "tasks/cancel"},
	opSubscribe:  {"SubscribeToTask", "tasks/resubscribe"},
	opPushCreate: {"CreateTaskPushNotificationConfig", "tasks/pushNotificationConfig/set"},
	opPushGet:    {"GetTaskPushNotificationConfig", "tasks/pushNotificationConfig/get"},
	opPushList:   {"ListTaskPushNotificationConfigs", "tasks/pushNotificationConfig/list"},
	opPushDelete: {"DeleteTaskPushNotificationConfig", "tasks/pushNotificationConfig/delete"},
}

// ask is what a request says; what an operation does not need is empty.
type ask struct {
	op                           operation
	task, context, message, text string
	config, hook                 string
	returnAtOnce                 bool
	page                         string
	token, agent, cursor         string
}

// has reports whether a dialect has an operation.
func (d *dialect) has(op operation) bool { return !d.legacy || d.rest || op != opList }

// words is the message of a request.
func (d *dialect) words(a *ask) map[string]any {
	m := map[string]any{"messageId": a.message}
	role, part := "ROLE_USER", map[string]any{"text": a.text}
	parts := "parts"
	switch {
	case d.legacy && d.rest:
		parts = "content"
	case d.legacy:
		role = "user"
		m["kind"], part["kind"] = "message", "text"
	}
	m["role"], m[parts] = role, []any{part}
	if a.task != "" {
		m["taskId"] = a.task
	}
	if a.context != "" {
		m["contextId"] = a.context
	}
	return m
}

// body is what a request says of itself in params, or as a body of REST; nil for nothing.
func (d *dialect) body(a *ask) any {
	switch a.op {
	case opSend, opStream:
		p := map[string]any{"message": d.words(a)}
		c := map[string]any{}
		if d.legacy {
			c["blocking"] = !a.returnAtOnce
		} else if a.returnAtOnce {
			c["returnImmediately"] = true
		}
		if a.hook != "" {
			name := "taskPushNotificationConfig"
			switch {
			case d.legacy && d.rest:
				name = "pushNotification"
			case d.legacy:
				name = "pushNotificationConfig"
			}
			c[name] = map[string]any{"id": a.config, "url": a.hook}
		}
		p["configuration"] = c
		return p
	case opPushCreate:
		inner := map[string]any{"id": a.config, "url": a.hook}
		switch {
		case d.legacy && d.rest:
			return map[string]any{"config": map[string]any{"name": "n", "pushNotificationConfig": inner}}
		case d.legacy:
			return map[string]any{"taskId": a.task, "pushNotificationConfig": inner}
		}
		inner["taskId"] = a.task
		return inner
	}
	if d.rest {
		return nil
	}
	p := map[string]any{}
	switch {
	case a.op == opList:
		if a.page != "" {
			p["pageToken"] = a.page
		}
		if a.context != "" {
			p["contextId"] = a.context
		}
	case a.op == opGet || a.op == opCancel || a.op == opSubscribe || d.legacy:
		p["id"] = a.task
		if a.config != "" {
			p["pushNotificationConfigId"] = a.config
		}
	default:
		p["taskId"] = a.task
		if a.config != "" {
			p["id"] = a.config
		}
	}
	return p
}

// route is the method of HTTP and the address below that of the agent.
func (d *dialect) route(a *ask) (verb, path string) {
	if !d.rest {
		return http.MethodPost, ""
	}
	base := ""
	if d.legacy {
		base = "/v1"
	}
	task := base + "/tasks/" + url.PathEscape(a.task)
	hooks := task + "/pushNotificationConfigs"
	switch a.op {
	case opSend:
		return http.MethodPost, base + "/message:send"
	case opStream:
		return http.MethodPost, base + "/message:stream"
	case opGet:
		return http.MethodGet, task
	case opList:
		q := url.Values{}
		if a.page != "" {
			q.Set("pageToken", a.page)
		}
		if a.context != "" {
			q.Set("contextId", a.context)
		}
		return http.MethodGet, base + "/tasks?" + q.Encode()
	case opCancel:
		return http.MethodPost, task + ":cancel"
	case opSubscribe:
		return http.MethodPost, task + ":subscribe"
	case opPushCreate:
		return http.MethodPost, hooks
	case opPushList:
		return http.MethodGet, hooks
	case opPushGet:
		return http.MethodGet, hooks + "/" + url.PathEscape(a.config)
	}
	return http.MethodDelete, hooks + "/" + url.PathEscape(a.config)
}

// request makes a request to the agent at base.
func (d *dialect) request(ctx context.Context, base string, a *ask) (*http.Request, error) {
	verb, path := d.route(a)
	var raw []byte
	if b := d.body(a); b != nil || !d.rest {
		var err error
		if !d.rest {
			method := rpcMethods[a.op][0]
			if d.legacy {
				method = rpcMethods[a.op][1]
			}
			b = map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": b}
		}
		if raw, err = json.Marshal(b); err != nil {
			return nil, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, verb, base+path, bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	if len(raw) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("A2A-Version", "1.0")
	if d.legacy {
		r.Header.Set("A2A-Version", "0.3")
	}
	if a.token != "" {
		r.Header.Set("Authorization", "Bearer "+a.token)
	}
	if a.agent != "" {
		r.Header.Set("Parley-Agent", a.agent)
	}
	if a.cursor != "" {
		r.Header.Set("Last-Event-ID", a.cursor)
	}
	return r, nil
}

// lonely makes each connection for one request, so that each can be cut.
var lonely = &http.Client{Transport: &http.Transport{DisableKeepAlives: true, ResponseHeaderTimeout: 3 * time.Minute}}

// answer is what came back, whole.
type answer struct {
	status int
	media  string
	body   []byte
}

func (d *dialect) do(ctx context.Context, base string, a *ask) (*answer, error) {
	r, err := d.request(ctx, base, a)
	if err != nil {
		return nil, err
	}
	return whole(r)
}

func whole(r *http.Request) (*answer, error) {
	resp, err := lonely.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	return &answer{resp.StatusCode, resp.Header.Get("Content-Type"), body}, nil
}

// fault is what an answer says is wrong; nil for nothing.
type fault struct {
	http, code int
	text       string
}

func (f *fault) Error() string { return fmt.Sprintf("HTTP %d, %d: %s", f.http, f.code, f.text) }

// passes reports whether it is worth another attempt: the hub is not there, or is about to go.
func (f *fault) passes() bool {
	return f.http == http.StatusServiceUnavailable || f.http == http.StatusTooManyRequests || f.code == -32000 ||
		f.code == http.StatusServiceUnavailable
}

// result takes the envelope of JSON-RPC away.
func (d *dialect) result(status int, raw []byte) (json.RawMessage, *fault) {
	var e struct {
		Result json.RawMessage `json:"result"`
		Error  *struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal(raw, &e); err != nil && status == http.StatusOK && len(raw) > 0 {
		return nil, &fault{status, 0, fmt.Sprintf("no JSON: %.200s", raw)}
	}
	switch {
	case e.Error != nil:
		return nil, &fault{status, e.Error.Code, e.Error.Message}
	case status != http.StatusOK:
		return nil, &fault{status, 0, fmt.Sprintf("%.200s", raw)}
	case d.rest:
		return raw, nil
	}
	return e.Result, nil
}

// told is the content of one result or event, independent of the version.
type told struct {
	Task *struct {
		ID        string `json:"id"`
		ContextID string `json:"contextId"`
		Status    status `json:"status"`
	} `json:"task"`
	Update *struct {
		Status status `json:"status"`
	} `json:"statusUpdate"`
	Artifact json.RawMessage `json:"artifactUpdate"`
}

type status struct {
	State   string `json:"state"`
	Message *struct {
		MessageID string `json:"messageId"`
		Parts     []struct {
			Text string `json:"text"`
		} `json:"parts"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"message"`
}

// text is what a status says.
func (s *status) text() string {
	switch {
	case s.Message == nil:
		return ""
	case len(s.Message.Parts) > 0:
		return s.Message.Parts[0].Text
	case len(s.Message.Content) > 0:
		return s.Message.Content[0].Text
	}
	return ""
}

func (s *status) terminal() bool {
	switch strings.TrimPrefix(strings.ToLower(s.State), "task_state_") {
	case "completed", "failed", "canceled", "cancelled", "rejected":
		return true
	}
	return false
}

func (s *status) completed() bool { return strings.HasSuffix(strings.ToLower(s.State), "completed") }

// read reads a result: of JSON-RPC in 0.3, which has no envelope by kind, too.
func (d *dialect) read(raw json.RawMessage) (*told, error) {
	if d.legacy && !d.rest {
		var kind struct {
			Kind string `json:"kind"`
		}
		if err := json.Unmarshal(raw, &kind); err != nil {
			return nil, err
		}
		names := map[string]string{"task": "task", "status-update": "statusUpdate", "artifact-update": "artifactUpdate"}
		raw = fmt.Appendf(nil, `{%q:%s}`, names[kind.Kind], raw)
	}
	v := new(told)
	return v, json.Unmarshal(raw, v)
}
