package rpc_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
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
	parley.MethodCreateToken:        `{"agentId":"AGENT"}`,
}

// matrixRefusals are what a role is refused although it sees the conversation and has the scope.
var matrixRefusals = map[string]map[string]string{
	parley.MethodAddParticipant:    {"participant": "forbidden", "other participant": "forbidden", "no read": "forbidden"},
	parley.MethodCloseConversation: {"participant": "forbidden", "other participant": "forbidden", "no read": "forbidden"},
	parley.MethodSendMessage:       {"other participant": "not_your_turn", "creator": "forbidden", "admin": "forbidden"},
	parley.MethodSendTrace:         {"other participant": "not_your_turn", "creator": "forbidden", "admin": "forbidden"},
	parley.MethodSendDelta:         {"other participant": "not_your_turn", "creator": "forbidden", "admin": "forbidden"},
	parley.MethodSendNote:          {"creator": "forbidden", "admin": "forbidden"},
	parley.MethodUnsubscribe:       {"*": "not_found"},
}

// TestAuthorizationMatrix calls every method in every role on an own, a foreign and an absent conversation, over both doors.
func TestAuthorizationMatrix(t *testing.T) {
	for _, role := range roles {
		t.Run(role.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &matrix{t: t, world: newWorld(t, nil), role: role.name, sees: role.sees, all: role.all}
				m.admin, m.carol, m.dave = m.world.as("admin"), m.world.as("carol"), m.world.as("dave")
				m.scopes = func(parley.Scope) bool { return false }
				if role.token != "" {
					m.token = m.admin.token(role.token)
					m.scopes = scopesOf(role.token)
				}
				m.agent = agentOf(role.token)
				for _, method := range parley.Methods {
					m.row(method)
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
	admin, carol, dave *peer
	role, token, agent string
	sees, all          bool
	scopes             func(parley.Scope) bool
	n                  int
}

func (m *matrix) row(method parley.Method) {
	params, ok := matrixParams[method.Name]
	switch {
	case method.Later:
		params = `{}`
	case !ok:
		m.t.Fatalf("the matrix has no params for %s", method.Name)
	}
	for _, post := range []bool{false, true} {
		m.n++
		door := m.overSocket
		if post {
			door = m.overPost
		}
		own, foreign, absent := fmt.Sprintf("own-%03d", m.n), fmt.Sprintf("for-%03d", m.n), fmt.Sprintf("abs-%03d", m.n)
		m.carol.create(fmt.Sprintf(`{"conversationId":%q,"participants":[{"id":"alice","kind":"agent"},{"id":"bob","kind":"agent"}]}`, own))
		m.dave.create(fmt.Sprintf(`{"conversationId":%q,"participants":[{"id":"dave","kind":"agent"},{"id":"erin","kind":"agent"}]}`, foreign))
		replies := map[string]string{}
		for _, conversation := range []string{own, foreign, absent} {
			full := strings.NewReplacer("CONVERSATION", conversation, "TOKEN", m.token, "AGENT", m.agent).Replace(params)
			replies[conversation] = door(method.Name, full)
			about := strings.Contains(params, "CONVERSATION")
			want := m.want(method, post, about, conversation == own, conversation == foreign)
			if got := parseReply(m.t, replies[conversation]).reason(); got != want {
				m.t.Errorf("%s, %s on %s (post %v): %q, want %q: %s", m.role, method.Name, conversation, post, got, want, replies[conversation])
			}
		}
		if !m.all && replies[foreign] != replies[absent] && method.Name != parley.MethodCreateConversation && method.Name != parley.MethodCreateToken {
			m.t.Errorf("%s, %s: foreign and absent can be told apart:\n%s\n%s", m.role, method.Name, replies[foreign], replies[absent])
		}
	}
}

// want says which refusal is expected; empty is none.
func (m *matrix) want(method parley.Method, post, about, own, foreign bool) string {
	switch {
	case m.token == "" && (post || method.Scope != parley.ScopeNone):
		return "unauthenticated"
	case method.Name == parley.MethodAuthenticate && !post && m.token == "":
		return "unauthenticated" // an empty token
	case method.Later || post && method.Socket:
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

func (m *matrix) overSocket(method, params string) string {
	header := http.Header{}
	if m.token != "" {
		header = bearer(m.token)
	}
	p := m.world.dial(m.role, header)
	defer p.close()
	return p.call(method, params)
}

func (m *matrix) overPost(method, params string) string {
	header := http.Header{}
	if m.token != "" {
		header = bearer(m.token)
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":"c1","method":%q,"params":%s}`, method, params)
	_, _, reply := m.world.post(header, strings.NewReader(body))
	return reply
}
