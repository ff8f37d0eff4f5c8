package rpc_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/sse"
)

// door is a way to call a method. It returns the reason of a refusal, empty for success, and the
// whole answer.
type door struct {
	name string
	call func(m *matrix, method methods.Method, params string) (reason, answer string)
	// serves reports whether the door has the method at all.
	serves func(methods.Method) bool
	route  bool // each method has its path
}

var (
	overSocket = door{name: "WebSocket", call: (*matrix).overSocket, serves: func(methods.Method) bool { return true }}
	overPost   = door{name: "POST /rpc", call: (*matrix).overPost,
		serves: func(m methods.Method) bool { return !m.Socket }}
	overRoute = door{name: "plain HTTP", call: (*matrix).overRoute,
		serves: func(m methods.Method) bool { return m.Route != "" }, route: true}
	overWait = door{name: "wait with events", call: (*matrix).overWait,
		serves: func(m methods.Method) bool { return m.Name == methods.WaitForChange }, route: true}

	doors = []door{overSocket, overPost, overRoute, overWait}
)

// credential is what the caller shows: headers, or a query.
func (m *matrix) credential() (header http.Header, query string) {
	switch {
	case m.token == "":
		return http.Header{}, ""
	case m.role.ticket:
		maker := m.world.with(m.token)
		defer maker.close()
		return http.Header{}, "?ticket=" + maker.ticket(fmt.Sprintf(`{"conversationId":%q}`, m.own))
	}
	return bearer(m.token), ""
}

func (m *matrix) overSocket(method methods.Method, params string) (reason, answer string) {
	header, query := m.credential()
	p, err := m.world.upgrade(query, header)
	if err != nil {
		return parley.ErrorRowOf(err).Reason(), err.Error()
	}
	defer p.close()
	answer = p.call(method.Name, params)
	return parseReply(m.t, answer).reason(), answer
}

func (m *matrix) overPost(method methods.Method, params string) (reason, answer string) {
	header, query := m.credential()
	a := m.world.plain(header, http.MethodPost, "/rpc"+query,
		fmt.Sprintf(`{"jsonrpc":"2.0","id":"c1","method":%q,"params":%s}`, method.Name, params))
	return parseReply(m.t, a.body).reason(), a.body
}

// overWait is the route of waitForChange with the result of tail.
func (m *matrix) overWait(method methods.Method, params string) (reason, answer string) {
	reason, answer = m.overRoute(method, strings.TrimSuffix(params, "}")+`,"include":"events"}`)
	if reason == "" && !strings.Contains(answer, `"events":[{`) {
		m.t.Errorf("%s got no events: %s", m.role.name, answer)
	}
	return reason, answer
}

// overRoute calls a method by its route. The answer is the status, the headers and the body; of a
// stream, the headers.
func (m *matrix) overRoute(method methods.Method, params string) (reason, answer string) {
	r := m.world.routed(method, params)
	header, query := m.credential()
	r.Header = header
	if query != "" {
		r.URL.RawQuery = strings.TrimPrefix(query+"&"+r.URL.RawQuery, "?")
	}
	if r.Method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := m.world.client().Do(r)
	if err != nil {
		m.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.Header.Get("Content-Type") == sse.MediaType {
		return "", fmt.Sprint(resp.StatusCode, resp.Header)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		m.t.Fatal(err)
	}
	var p parley.Problem
	if resp.Header.Get("Content-Type") == parley.ProblemType {
		if err := json.Unmarshal(body, &p); err != nil || p.Status != resp.StatusCode {
			m.t.Errorf("%s %s: HTTP %d, problem %s, %v", r.Method, r.URL, resp.StatusCode, body, err)
		}
	}
	return p.Reason, fmt.Sprintf("%d %v %s", resp.StatusCode, resp.Header, body)
}

// routed makes the request of a method's route that says what params say.
func (w *world) routed(method methods.Method, params string) *http.Request {
	w.t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal([]byte(params), &members); err != nil {
		w.t.Fatal(err)
	}
	text := func(name string) string { return strings.Trim(string(members[name]), `"`) }
	verb, path, _ := strings.Cut(method.Route, " ")
	for name := range members {
		if strings.Contains(path, "{"+name+"}") {
			path = strings.ReplaceAll(path, "{"+name+"}", text(name))
			delete(members, name)
		}
	}
	query := url.Values{}
	var body []byte
	switch {
	case method.Name == methods.PutAttachment: // its body is the file
		query.Set("conversationId", text("conversationId"))
		body, _ = base64.StdEncoding.DecodeString(text("data"))
	case verb == http.MethodPost:
		body, _ = json.Marshal(members)
	default:
		for name := range members {
			query.Set(name, text(name))
		}
	}
	r, err := http.NewRequest(verb, "http://"+w.addr+path+"?"+query.Encode(), bytes.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.URL.ForceQuery = false
	return r
}
