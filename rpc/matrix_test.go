package rpc_test

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/methods"
)

// role is a kind of caller in the authorization matrix. own is a conversation of alice, bob and
// pat, a person, that carol created in the workspace w. foreign is a conversation of dave, in which
// no other caller takes part.
type role struct {
	name   string
	token  string // params of createToken; empty: none at all
	sees   bool   // own
	reads  bool   // own, by its workspace
	all    bool   // foreign too
	like   string // the role whose row of matrixRefusals is this one's too; empty: its own name
	narrow bool   // to conversations, so that it may create none
	ticket bool   // it shows a ticket for own that was made with its token, and not the token
	ended  func(m *matrix)
}

var roles = []role{
	{name: "no token"},
	{name: "participant", token: `{"agentId":"alice"}`, sees: true},
	{name: "other participant", token: `{"agentId":"bob"}`, sees: true},
	{name: "creator", token: `{"agentId":"carol"}`, sees: true},
	{name: "person", token: `{"agentId":"pat","scopes":["read","write","approve"]}`, sees: true},
	{name: "person without approve", token: `{"agentId":"pat","scopes":["read"]}`, sees: true},
	{name: "asker with approve", token: `{"agentId":"alice","scopes":["read","approve"]}`, sees: true},
	{name: "agent with approve", token: `{"agentId":"bob","scopes":["read","approve"]}`, sees: true},
	{name: "creator with approve", token: `{"agentId":"carol","scopes":["read","approve"]}`, sees: true},
	{name: "foreigner with approve", token: `{"agentId":"zed","scopes":["read","approve","trace"]}`},
	{name: "foreigner", token: `{"agentId":"zed"}`},
	{name: "read only", token: `{"agentId":"alice","scopes":["read"]}`, sees: true},
	{name: "no read", token: `{"agentId":"alice","scopes":["write"]}`, sees: true},
	{name: "trace", token: `{"agentId":"zed","scopes":["read","trace"]}`},
	{name: "other conversations", token: `{"agentId":"alice","conversations":["else"]}`, narrow: true},
	{name: "admin", token: `{"agentId":"root","scopes":["admin"]}`, sees: true, all: true},
	{name: "narrow admin", token: `{"agentId":"root","scopes":["admin"],"conversations":[` + ownConversations() + `]}`,
		sees: true, like: "admin", narrow: true},
	{name: "holder of a ticket", token: `{"agentId":"alice"}`, sees: true, like: "participant", narrow: true,
		ticket: true},
	{name: "reader of the workspace", token: `{"agentId":"zed","workspaces":["v","w"]}`, reads: true},
	{name: "reader of the workspace with approve",
		token: `{"agentId":"zed","scopes":["read","approve","trace"],"workspaces":["w"]}`, reads: true},
	{name: "reader of the workspace without read", token: `{"agentId":"zed","scopes":["write"],"workspaces":["w"]}`,
		reads: true},
	{name: "reader of another workspace", token: `{"agentId":"zed","workspaces":["v"]}`},
	{name: "holder of a reader's ticket", token: `{"agentId":"zed","workspaces":["w"]}`, reads: true, narrow: true,
		ticket: true},
	{name: "revoked", token: `{"agentId":"alice"}`, ended: func(m *matrix) {
		m.world.as("admin").must(methods.RevokeToken, revokes(m.token))
	}},
	{name: "expired", token: `{"agentId":"alice","expiresInMs":1000}`, ended: func(*matrix) { time.Sleep(time.Second) }},
	{name: "expired admin", token: `{"agentId":"root","scopes":["admin"],"expiresInMs":1000}`,
		ended: func(*matrix) { time.Sleep(time.Second) }},
}

// ownConversation is the id of own in a row of the matrix.
func ownConversation(row int) string { return fmt.Sprintf("own-%03d", row) }

// ownConversations are as many of them as a token can name.
func ownConversations() string {
	var ids []string
	for row := range limits.MaxConversationScope {
		ids = append(ids, strconv.Quote(ownConversation(row)))
	}
	return strings.Join(ids, ",")
}

// matrixParams are the params of every method. CONVERSATION is replaced by the conversation;
// methods without it concern no conversation. CLAIM is the claim of alice in own, and APPROVAL the
// approval that the agent with the floor asked for in the conversation.
var matrixParams = map[string]string{
	methods.Authenticate:       `{"token":"TOKEN"}`,
	methods.Ping:               `{}`,
	methods.CreateConversation: `{"participants":[{"id":"alice","kind":"agent"}]}`,
	methods.GetConversation:    `{"conversationId":"CONVERSATION"}`,
	methods.ListConversations:  `{}`,
	methods.WatchConversations: `{}`,
	methods.AddParticipant:     `{"conversationId":"CONVERSATION","participant":{"id":"new","kind":"agent"}}`,
	methods.CloseConversation:  `{"conversationId":"CONVERSATION"}`,
	methods.ForkConversation:   `{"conversationId":"CONVERSATION","seq":1}`,
	methods.Tail:               `{"conversationId":"CONVERSATION","sinceSeq":0}`,
	methods.WaitForChange:      `{"conversationId":"CONVERSATION","sinceSeq":0}`,
	methods.GetUpdates:         `{"conversationId":"CONVERSATION"}`,
	methods.Subscribe:          `{"conversationId":"CONVERSATION"}`,
	methods.Unsubscribe:        `{"subscriptionId":"sub_9"}`,
	methods.GetGuidance:        `{"conversationId":"CONVERSATION"}`,
	methods.Explain:            `{"conversationId":"CONVERSATION"}`,
	methods.SendMessage:        `{"conversationId":"CONVERSATION","payload":{"text":"x"},"finality":"turn"}`,
	methods.SendTrace:          `{"conversationId":"CONVERSATION","payload":{"kind":"x"}}`,
	methods.SendNote:           `{"conversationId":"CONVERSATION","payload":{"schema":"x","data":1}}`,
	methods.SendDelta:          `{"conversationId":"CONVERSATION","turn":1,"index":0,"text":"x"}`,
	methods.PutAttachment:      `{"conversationId":"CONVERSATION","data":"aGVsbG8="}`,
	methods.GetAttachment: `{"conversationId":"CONVERSATION",` +
		`"sha256":"2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"}`,
	methods.RegisterExecutor:   `{"executorId":"x","agents":["AGENT"]}`,
	methods.ClaimTurn:          `{"conversationId":"CONVERSATION","turn":1}`,
	methods.RenewClaim:         `{"conversationId":"CONVERSATION","claimId":"CLAIM"}`,
	methods.ReleaseClaim:       `{"conversationId":"CONVERSATION","claimId":"CLAIM","outcome":"yield"}`,
	methods.CancelTurn:         `{"conversationId":"CONVERSATION","turn":1}`,
	methods.ListAgents:         `{}`,
	methods.RegisterBlueprints: `{"blueprints":[]}`,
	methods.StartSession: `{"agentName":"helper","prompt":"x","mode":"async_poll",` +
		`"parentConversationId":"CONVERSATION"}`,
	// It is no session: TestWhoSeesSessions has real ones.
	methods.GetSession:      `{"sessionId":"CONVERSATION"}`,
	methods.StopSession:     `{"sessionId":"CONVERSATION"}`,
	methods.RequestApproval: `{"conversationId":"CONVERSATION","claimId":"CLAIM","key":"k","title":"May I?"}`,
	methods.GetApproval:     `{"approvalId":"APPROVAL"}`,
	methods.ListApprovals:   `{"conversationId":"CONVERSATION"}`,
	methods.ResolveApproval: `{"approvalId":"APPROVAL","decision":"approved"}`,
	methods.GetContext:      `{"conversationId":"CONVERSATION","agentId":"alice"}`,
	methods.ExplainTriggers: `{"conversationId":"CONVERSATION","seq":2}`,
	methods.CreateTicket:    `{"conversationId":"CONVERSATION"}`,
	methods.CreateToken:     `{"agentId":"AGENT"}`,
	methods.ListTokens:      `{}`,
	methods.RevokeToken:     `{"tokenId":"absent"}`,
	methods.Stats:           `{}`,
}

// matrixRefusals are what a role is refused although it sees the conversation and has the scope.
var matrixRefusals = map[string]map[string]string{
	methods.AddParticipant: {"participant": "forbidden", "other participant": "forbidden", "person": "forbidden",
		"no read": "forbidden"},
	methods.CloseConversation: {"participant": "forbidden", "other participant": "forbidden", "no read": "forbidden"},
	// whose token grants no workspace
	methods.ForkConversation: {"participant": "forbidden", "other participant": "forbidden", "no read": "forbidden",
		"creator": "forbidden"},
	methods.SendMessage: {"other participant": "not_your_turn", "person": "not_your_turn",
		"creator": "forbidden", "admin": "forbidden"},
	methods.SendTrace: {"other participant": "not_your_turn", "person": "not_your_turn",
		"creator": "forbidden", "admin": "forbidden"},
	methods.SendDelta: {"other participant": "not_your_turn", "person": "not_your_turn",
		"creator": "forbidden", "admin": "forbidden"},
	methods.SendNote:      {"creator": "forbidden", "admin": "forbidden"},
	methods.PutAttachment: {"creator": "forbidden", "admin": "forbidden"},
	methods.ClaimTurn:     {"other participant": "not_your_turn", "creator": "forbidden"},
	methods.RenewClaim:    {"other participant": "claim_lost", "person": "claim_lost", "creator": "claim_lost"},
	methods.ReleaseClaim:  {"other participant": "claim_lost", "person": "claim_lost", "creator": "claim_lost"},
	methods.CancelTurn: {"participant": "forbidden", "other participant": "forbidden", "creator": "forbidden",
		"no read": "forbidden"},
	methods.StartSession: {"creator": "forbidden", "admin": "forbidden"},
	methods.RequestApproval: {"other participant": "not_your_turn", "person": "not_your_turn",
		"creator": "forbidden"},
	methods.GetApproval: {"other participant": "not_found", "creator": "not_found",
		"person without approve": "not_found", "agent with approve": "not_found",
		"creator with approve": "not_found"},
	methods.GetContext: {"other participant": "forbidden", "creator": "forbidden", "person": "forbidden",
		"person without approve": "forbidden", "agent with approve": "forbidden",
		"creator with approve": "forbidden"}, // it is alice's
	methods.ResolveApproval: {"asker with approve": "forbidden", "agent with approve": "forbidden",
		"creator with approve": "forbidden"},
	methods.RegisterBlueprints: {"*": "validation_failed"}, // no executor is registered
	methods.GetSession:         {"*": "not_found"},
	methods.StopSession:        {"*": "not_found"},
	methods.Unsubscribe:        {"*": "not_found"},
	methods.RevokeToken:        {"*": "not_found"},
}

// TestAuthorizationMatrix calls every method in every role on an own, a foreign and an absent
// conversation, at every door.
func TestAuthorizationMatrix(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes one call after another: the race detector, which is slow, learns nothing from so many")
	}
	for _, role := range roles {
		t.Run(role.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &matrix{t: t, world: newWorld(t, nil), role: role}
				m.alice, m.carol, m.dave = m.world.as("alice"), m.world.as("carol"), m.world.as("dave")
				m.world.helper()
				m.scopes = func(parley.Scope) bool { return false }
				if role.token != "" {
					m.token = m.world.as("admin").token(role.token)
					m.scopes = scopesOf(role.token)
				}
				m.agent = agentOf(role.token)
				if role.ended != nil {
					role.ended(m)
					late := m.world.dial(role.name, nil)
					if got := parseReply(t, late.call(methods.Authenticate,
						fmt.Sprintf(`{"token":%q}`, m.token))).reason(); got != "unauthenticated" {
						t.Errorf("%s, shown to an open socket: %q", role.name, got)
					}
					late.close()
				}
				for _, method := range methods.Table {
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
		if s == methods.ScopeNone || s == methods.ScopeSelf || strings.Contains(token, `"admin"`) {
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
	role               role
	token, agent       string
	scopes             func(parley.Scope) bool
	n                  int
	own                string // of this row
}

func (m *matrix) row(method methods.Method, door door) {
	params, ok := matrixParams[method.Name]
	if !ok {
		m.t.Fatalf("the matrix has no params for %s", method.Name)
	}
	if door.route && !door.serves(method) {
		return // TestRoutes holds that there is no other
	}
	m.n++
	m.own = ownConversation(m.n)
	own, foreign, absent := m.own, fmt.Sprintf("for-%03d", m.n), fmt.Sprintf("abs-%03d", m.n)
	m.carol.create(fmt.Sprintf(`{"conversationId":%q,"workspace":"w","participants":[{"id":"alice","kind":"agent"},`+
		`{"id":"bob","kind":"agent"},{"id":"pat","kind":"human"}]}`, own))
	guest := "erin"
	if m.role.ticket {
		guest = m.agent // her token would show her the foreign one
	}
	m.dave.create(fmt.Sprintf(`{"conversationId":%q,"participants":[{"id":"dave","kind":"agent"},{"id":%q,`+
		`"kind":"agent"}]}`, foreign, guest))
	if method.Name == methods.GetAttachment {
		m.alice.must(methods.PutAttachment, strings.ReplaceAll(matrixParams[methods.PutAttachment], "CONVERSATION",
			own))
		m.dave.must(methods.PutAttachment, strings.ReplaceAll(matrixParams[methods.PutAttachment], "CONVERSATION",
			foreign))
	}
	if method.Name == methods.ExplainTriggers {
		m.alice.must(methods.SendNote, strings.ReplaceAll(matrixParams[methods.SendNote], "CONVERSATION", own))
		m.dave.must(methods.SendNote, strings.ReplaceAll(matrixParams[methods.SendNote], "CONVERSATION", foreign))
	}
	claim := "clm_1_x"
	if strings.Contains(params, "CLAIM") { // own's is alice's
		claim = m.alice.claims(own)
	}
	if strings.Contains(params, "APPROVAL") {
		m.alice.asks(own)
		m.dave.asks(foreign)
	}
	answers := map[string]string{}
	for _, conversation := range []string{own, foreign, absent} {
		full := strings.NewReplacer("CONVERSATION", conversation, "TOKEN", m.token, "AGENT", m.agent, "CLAIM", claim,
			"APPROVAL", conversation+".3").Replace(params)
		var got string
		got, answers[conversation] = door.call(m, method, full)
		about := strings.Contains(params, "CONVERSATION") || strings.Contains(params, "APPROVAL")
		want := m.want(method, door, about, conversation == own, conversation == foreign)
		if got != want {
			m.t.Errorf("%s, %s on %s (%s): %q, want %q: %s", m.role.name, method.Name, conversation, door.name, got, want,
				answers[conversation])
		}
	}
	// from call to call
	changes := slices.Contains([]string{methods.CreateConversation, methods.CreateToken, methods.Stats},
		method.Name)
	if !m.role.all && !changes && answers[foreign] != answers[absent] {
		m.t.Errorf("%s, %s (%s): foreign and absent differ:\n%s\n%s", m.role.name, method.Name, door.name,
			answers[foreign], answers[absent])
	}
}

// want returns the expected reason of a refusal; empty for success.
func (m *matrix) want(method methods.Method, door door, about, own, foreign bool) string {
	socket := door.name == overSocket.name
	switch {
	case m.role.ended != nil:
		return "unauthenticated"
	case m.role.ticket && !socket && !(door.route && method.Name == methods.Subscribe): // it opens nothing else
		return "unauthenticated"
	case m.token == "" && (!socket || method.Scope != methods.ScopeNone):
		return "unauthenticated"
	case method.Name == methods.Authenticate && socket && m.token == "":
		return "unauthenticated" // an empty token
	case !door.serves(method):
		return "method_not_found"
	case !m.scopes(method.Scope):
		return "forbidden"
	case own && m.role.reads && about:
		return readerRefusal(method)
	case about && !(own && m.role.sees) && !(foreign && m.role.all):
		return "not_found"
	// which would be another conversation
	case m.role.narrow && (method.Name == methods.CreateConversation || method.Name == methods.ForkConversation):
		return "forbidden"
	case foreign && method.Name == methods.GetContext: // alice has no seat there
		return "forbidden"
	case foreign && method.Name == methods.RequestApproval: // admin has no seat there, and the claim is own's
		return "forbidden"
	case foreign && strings.Contains(matrixParams[method.Name], "CLAIM"): // it is own's
		return "claim_lost"
	}
	if want, ok := matrixRefusals[method.Name]["*"]; ok {
		return want
	}
	return matrixRefusals[method.Name][cmp.Or(m.role.like, m.role.name)]
}

// readerRefusal returns the error for a reader of a workspace in its conversations. Writes are
// forbidden, and methods for participants only report that the conversation does not exist.
func readerRefusal(method methods.Method) string {
	switch method.Name {
	case methods.GetSession, methods.StopSession, methods.GetApproval, methods.ListApprovals,
		methods.ResolveApproval:
		return "not_found"
	case methods.CreateTicket:
		return ""
	case methods.GetContext: // it is no agent there
		return "forbidden"
	}
	if method.Scope == parley.ScopeRead {
		return matrixRefusals[method.Name]["*"]
	}
	return "forbidden"
}
