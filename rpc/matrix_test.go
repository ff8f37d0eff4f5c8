package rpc_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/sse"
)

// The roles of the authorization matrix. own is a conversation of alice and bob that carol created; foreign is one of dave's, whom
// nobody here knows.
var roles = []struct {
	name  string
	token string // params of createToken; empty: none at all
	sees  bool   // own
	all   bool   // foreign too
}{
	{"no token", "", false, false},
	{"participant", `{"agentId":"alice"}`, true, false},
	{"other participant", `{"agentId":"bob"}`, true, false},
	{"creator", `{"agentId":"carol"}`, true, false},
	{"foreigner", `{"agentId":"zed"}`, false, false},
	{"read only", `{"agentId":"alice","scopes":["read"]}`, true, false},
	{"no read", `{"agentId":"alice","scopes":["write"]}`, true, false},
	{"trace", `{"agentId":"zed","scopes":["read","trace"]}`, false, false},
	{"other conversations", `{"agentId":"alice","conversations":["else"]}`, false, false},
	{"admin", `{"agentId":"root","scopes":["admin"]}`, true, true},
}

// matrixParams are the params of every method. CONVERSATION stands for the conversation; without it the method is about none.
var matrixParams = map[string]string{
	parley.MethodAuthenticate:       `{"token":"TOKEN"}`,
	parley.MethodPing:               `{}`,
	parley.MethodCreateConversation: `{"participants":[{"id":"alice","kind":"agent"}]}`,
	parley.MethodGetConversation:    `{"conversationId":"CONVERSATION"}`,
	parley.MethodListConversations:  `{}`,
	parley.MethodAddParticipant:     `{"conversationId":"CONVERSATION","participant":{"id":"new","kind":"agent"}}`,
	parley.MethodCloseConversation:  `{"conversationId":"CONVERSATION"}`,
	parley.MethodTail:               `{"conversationId":"CONVERSATION","sinceSeq":0}`,
	parley.MethodWaitForChange:      `{"conversationId":"CONVERSATION","sinceSeq":0}`,
	parley.MethodGetUpdates:         `{"conversationId":"CONVERSATION"}`,
	parley.MethodSubscribe:          `{"conversationId":"CONVERSATION"}`,
	parley.MethodUnsubscribe:        `{"subscriptionId":"sub_9"}`,
	parley.MethodGetGuidance:        `{"conversationId":"CONVERSATION"}`,
	parley.MethodExplain:            `{"conversationId":"CONVERSATION"}`,
	parley.MethodSendMessage:        `{"conversationId":"CONVERSATION","payload":{"text":"x"},"finality":"turn"}`,
	parley.MethodSendTrace:          `{"conversationId":"CONVERSATION","payload":{"kind":"x"}}`,
	parley.MethodSendNote:           `{"conversationId":"CONVERSATION","payload":{"schema":"x","data":1}}`,
	parley.MethodSendDelta:          `{"conversationId":"CONVERSATION","turn":1,"index":0,"text":"x"}`,
	parley.MethodPutAttachment:      `{"conversationId":"CONVERSATION","data":"aGVsbG8="}`,
	parley.MethodGetAttachment:      `{"conversationId":"CONVERSATION","sha256":"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"}`,
	parley.MethodListAgents:         `{}`,
	parley.MethodCreateTicket:       `{"conversationId":"CONVERSATION"}`,
	parley.MethodCreateToken:        `{"agentId":"AGENT"}`,
	parley.MethodListTokens:         `{}`,
	parley.MethodRevokeToken:        `{"tokenId":"absent"}`,
	parley.MethodStats:              `{}`,
}

// matrixRefusals are what a role is refused although it sees the conversation and has the scope.
var matrixRefusals = map[string]map[string]string{
	parley.MethodAddParticipant:    {"participant": "forbidden", "other participant": "forbidden", "no read": "forbidden"},
	parley.MethodCloseConversation: {"participant": "forbidden", "other participant": "forbidden", "no read": "forbidden"},
	parley.MethodSendMessage:       {"other participant": "not_your_turn", "creator": "forbidden", "admin": "forbidden"},
	parley.MethodSendTrace:         {"other participant": "not_your_turn", "creator": "forbidden", "admin": "forbidden"},
	parley.MethodSendDelta:         {"other participant": "not_your_turn", "creator": "forbidden", "admin": "forbidden"},
	parley.MethodSendNote:          {"creator": "forbidden", "admin": "forbidden"},
	parley.MethodPutAttachment:     {"creator": "forbidden", "admin": "forbidden"},
	parley.MethodUnsubscribe:       {"*": "not_found"},
	parley.MethodRevokeToken:       {"*": "not_found"},
}

// TestAuthorizationMatrix calls every method in every role on an own, a foreign and an absent conversation, at every door.
func TestAuthorizationMatrix(t *testing.T) {
	for _, role := range roles {
		t.Run(role.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &matrix{t: t, world: newWorld(t, nil), role: role.name, sees: role.sees, all: role.all}
				m.alice, m.carol, m.dave = m.world.as("alice"), m.world.as("carol"), m.world.as("dave")
				m.scopes = func(parley.Scope) bool { return false }
				if role.token != "" {
					m.token = m.world.as("admin").token(role.token)
					m.scopes = scopesOf(role.token)
				}
				m.agent = agentOf(role.token)
				for _, method := range parley.Methods {
					for _, door := range doors {
						m.row(method, door)
					}
				}
			})
		})
	}
}

func agentOf(token string) string {
	_, rest, _ := strings.Cut(token, `"agentId":"`)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}

func scopesOf(token string) func(parley.Scope) bool {
	return func(s parley.Scope) bool {
		if s == parley.ScopeNone || s == parley.ScopeSelf || strings.Contains(token, `"admin"`) {
			return true
		}
		if !strings.Contains(token, "scopes") {
			return slices.Contains(parley.DefaultScopes, s)
		}
		return strings.Contains(token, `"`+string(s)+`"`)
	}
}

type matrix struct {
	t                  *testing.T
	world              *world
	alice, carol, dave *peer
	role, token, agent string
	sees, all          bool
	scopes             func(parley.Scope) bool
	n                  int
}

// door is a way to call a method. It gives the refusal, empty for none, and all that the caller is told.
type door struct {
	name string
	call func(m *matrix, method parley.Method, params string) (reason, told string)
	// serves reports whether the door has the method at all.
	serves func(parley.Method) bool
}

var (
	overSocket = door{"WebSocket", (*matrix).overSocket, func(parley.Method) bool { return true }}
	overPost   = door{"POST /rpc", (*matrix).overPost, func(m parley.Method) bool { return !m.Socket }}
	overRoute  = door{"plain HTTP", (*matrix).overRoute, func(m parley.Method) bool { return m.Route != "" }}

	doors = []door{overSocket, overPost, overRoute}
)

func (m *matrix) row(method parley.Method, door door) {
	params, ok := matrixParams[method.Name]
	switch {
	case method.Later:
		params = `{}`
	case !ok:
		m.t.Fatalf("the matrix has no params for %s", method.Name)
	}
	if door.name == overRoute.name && method.Route == "" {
		return // TestRoutes holds that there is no other
	}
	m.n++
	own, foreign, absent := fmt.Sprintf("own-%03d", m.n), fmt.Sprintf("for-%03d", m.n), fmt.Sprintf("abs-%03d", m.n)
	m.carol.create(fmt.Sprintf(`{"conversationId":%q,"participants":[{"id":"alice","kind":"agent"},{"id":"bob","kind":"agent"}]}`, own))
	m.dave.create(fmt.Sprintf(`{"conversationId":%q,"participants":[{"id":"dave","kind":"agent"},{"id":"erin","kind":"agent"}]}`, foreign))
	if method.Name == parley.MethodGetAttachment {
		m.alice.must(parley.MethodPutAttachment, strings.ReplaceAll(matrixParams[parley.MethodPutAttachment], "CONVERSATION", own))
		m.dave.must(parley.MethodPutAttachment, strings.ReplaceAll(matrixParams[parley.MethodPutAttachment], "CONVERSATION", foreign))
	}
	told := map[string]string{}
	for _, conversation := range []string{own, foreign, absent} {
		full := strings.NewReplacer("CONVERSATION", conversation, "TOKEN", m.token, "AGENT", m.agent).Replace(params)
		var got string
		got, told[conversation] = door.call(m, method, full)
		about := strings.Contains(params, "CONVERSATION")
		want := m.want(method, door, about, conversation == own, conversation == foreign)
		if got != want {
			m.t.Errorf("%s, %s on %s (%s): %q, want %q: %s", m.role, method.Name, conversation, door.name, got, want, told[conversation])
		}
	}
	makes := method.Name == parley.MethodCreateConversation || method.Name == parley.MethodCreateToken
	if !m.all && !makes && told[foreign] != told[absent] {
		m.t.Errorf("%s, %s (%s): foreign and absent can be told apart:\n%s\n%s", m.role, method.Name, door.name, told[foreign], told[absent])
	}
}

// want says which refusal is expected; empty is none.
func (m *matrix) want(method parley.Method, door door, about, own, foreign bool) string {
	socket := door.name == overSocket.name
	switch {
	case m.token == "" && (!socket || method.Scope != parley.ScopeNone):
		return "unauthenticated"
	case method.Name == parley.MethodAuthenticate && socket && m.token == "":
		return "unauthenticated" // an empty token
	case method.Later || !door.serves(method):
		return "method_not_found"
	case !m.scopes(method.Scope):
		return "forbidden"
	case about && !(own && m.sees) && !(foreign && m.all):
		return "not_found"
	case m.role == "other conversations" && method.Name == parley.MethodCreateConversation:
		return "forbidden"
	}
	if want, ok := matrixRefusals[method.Name]["*"]; ok {
		return want
	}
	return matrixRefusals[method.Name][m.role]
}

func (m *matrix) header() http.Header {
	if m.token == "" {
		return http.Header{}
	}
	return bearer(m.token)
}

func (m *matrix) overSocket(method parley.Method, params string) (reason, told string) {
	p := m.world.dial(m.role, m.header())
	defer p.close()
	told = p.call(method.Name, params)
	return parseReply(m.t, told).reason(), told
}

func (m *matrix) overPost(method parley.Method, params string) (reason, told string) {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":"c1","method":%q,"params":%s}`, method.Name, params)
	_, _, told = m.world.post(m.header(), strings.NewReader(body))
	return parseReply(m.t, told).reason(), told
}

// overRoute calls a method by its route. What it is told are the status, the headers and the body; of a stream, the head.
func (m *matrix) overRoute(method parley.Method, params string) (reason, told string) {
	r := m.world.routed(method, params)
	r.Header = m.header()
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
func (w *world) routed(method parley.Method, params string) *http.Request {
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
	case method.Name == parley.MethodPutAttachment: // its body is the file
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
