package rpc_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/schema"
	"github.com/parleyhub/parley/rpc"
)

// fullParams are params that the hub takes, with every optional member. CONVERSATION is a fresh
// conversation of alice's, SHA a file in it, APPROVAL one that bot asks her for in another.
var fullParams = map[string]string{
	methods.Authenticate: `{"token":"dev","agentId":"alice","clientName":"c",` +
		`"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`,
	methods.Ping:         `{}`,
	methods.CreateTicket: `{"conversationId":"CONVERSATION","origin":"http://127.0.0.1"}`,
	methods.CreateConversation: `{"conversationId":"new-CONVERSATION","title":"t","participants":[{"id":"alice",
		"kind":"agent","agent":"a","executor":"any","role":"r","private":"p"}],
		"policy":{"kind":"rules","rules":[{"when":"true","next":"alice"}]},"startsWith":"alice","limits":{"maxTurns":5,
		"maxEvents":5,"maxBytes":5000,"idleTimeoutMs":5000,"deadlineMs":5000,
		"turnTimeoutMs":5000,"onTurnTimeout":"skip","maxAttempts":5,"maxClaimMs":50000,"claimWindowMs":5000,
		"maxAutonomousTurns":5,"maxHops":5,"maxWakesPerMinute":5,"stopWhen":"false"},"metadata":{},
		"workspace":"w","clientRequestId":"k","traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`,
	methods.GetConversation: `{"conversationId":"CONVERSATION","sinceSeq":1,"limit":1}`,
	methods.ListConversations: `{"status":"active","workspace":"w","participant":"alice","text":"t",` +
		`"newest":true,"limit":1}`,
	methods.WatchConversations: `{"workspace":"w","limit":1,"timeoutMs":1}`,
	methods.AddParticipant: `{"conversationId":"CONVERSATION","participant":{"id":"carol","kind":"agent",` +
		`"agent":"c","executor":"external","role":"r","private":"p"}}`,
	methods.CloseConversation: `{"conversationId":"CONVERSATION","outcome":{"status":"failed","reason":"r"}}`,
	methods.ForkConversation: `{"conversationId":"CONVERSATION","seq":1,"forkId":"fork-CONVERSATION","title":"t",
		"clientRequestId":"k",
		"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`,
	methods.Tail:          `{"conversationId":"CONVERSATION","sinceSeq":1,"limit":1}`,
	methods.WaitForChange: `{"conversationId":"CONVERSATION","sinceSeq":0,"timeoutMs":1}`,
	methods.GetUpdates:    `{"conversationId":"CONVERSATION","sinceSeq":0,"limit":1,"timeoutMs":1,"until":"any"}`,
	methods.Subscribe:     `{"conversationId":"CONVERSATION","sinceSeq":0,"types":["message"]}`,
	methods.Unsubscribe:   `{"subscriptionId":"sub_0"}`,
	methods.GetGuidance:   `{"conversationId":"CONVERSATION","explain":true}`,
	methods.Explain:       `{"conversationId":"CONVERSATION","seq":1}`,
	methods.SendMessage: `{"conversationId":"CONVERSATION","payload":{"text":"t","data":1,"schema":"s",
		"tags":["t"],"attachments":[{"sha256":"SHA","name":"n","mediaType":"m/t"}]},
		"finality":"conversation","turn":1,"afterSeq":1,"outcome":{"status":"failed","reason":"r"},"clientRequestId":"k",
		"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`,
	methods.SendTrace: `{"conversationId":"CONVERSATION","payload":{"kind":"k"},"turn":1,` +
		`"clientRequestId":"k","traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`,
	methods.SendNote: `{"conversationId":"CONVERSATION","payload":{"schema":"s","tags":["t"],"data":1},` +
		`"clientRequestId":"k","traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`,
	methods.SendDelta:     `{"conversationId":"CONVERSATION","turn":1,"index":0,"text":"t"}`,
	methods.PutAttachment: `{"conversationId":"CONVERSATION","data":"QUJD","name":"n","mediaType":"m/t"}`,
	methods.GetAttachment: `{"conversationId":"CONVERSATION","sha256":"SHA","offset":1,"length":1}`,
	methods.RegisterExecutor: `{"executorId":"x","agents":["alice"],"mode":"pull","capacity":5,"graceMs":5000,` +
		`"holding":["clm_1_x"],"labels":{"a":"b"}}`,
	methods.RegisterBlueprints: `{"blueprints":[{"name":"alice","description":"d","parameters_schema":{},` +
		`"output_schema":{},"params_via":"flags","timeout_ms":5000,"idempotent":true,` +
		`"subscriptions":[{"schema_name":"s"}],"labels":{"a":"b"}}]}`,
	methods.StartSession: `{"agentName":"helper","parameters":{"prompt":"p"},"mode":"async_poll",` +
		`"parentConversationId":"CONVERSATION","demands":{"a":"b"},"metadata":{},"timeoutMs":1,"clientRequestId":"k",` +
		`"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`,
	methods.GetSession:  `{"sessionId":"SESSION","timeoutMs":1,"progressSince":0}`,
	methods.StopSession: `{"sessionId":"SESSION","reason":"r"}`,
	methods.RequestApproval: `{"conversationId":"CONVERSATION","claimId":"clm_1_x","key":"k","title":"t",` +
		`"details":{},"answerSchema":{},"expiresInMs":5000}`,
	methods.GetApproval:   `{"approvalId":"APPROVAL","timeoutMs":1}`,
	methods.ListApprovals: `{"status":"pending","conversationId":"CONVERSATION","limit":1}`,
	methods.ResolveApproval: `{"approvalId":"APPROVAL","decision":"approved","answer":{},"comment":"c",` +
		`"clientRequestId":"k"}`,
	methods.ClaimTurn:       `{"conversationId":"CONVERSATION","turn":1}`,
	methods.RenewClaim:      `{"conversationId":"CONVERSATION","claimId":"clm_1_x"}`,
	methods.ReleaseClaim:    `{"conversationId":"CONVERSATION","claimId":"clm_1_x","outcome":"yield","reason":"r"}`,
	methods.CancelTurn:      `{"conversationId":"CONVERSATION","turn":1,"reason":"r"}`,
	methods.ListAgents:      `{"includeConfig":true,"includeExecutors":true}`,
	methods.GetContext:      `{"conversationId":"CONVERSATION","agentId":"alice","claimId":"clm_1_x"}`,
	methods.ExplainTriggers: `{"conversationId":"CONVERSATION","seq":2}`,
	methods.CreateToken: `{"agentId":"alice","agents":["bob"],"scopes":["read"],` +
		`"conversations":["CONVERSATION"],"workspaces":["w"],"expiresInMs":5000}`,
	methods.ListTokens:  `{"limit":1}`,
	methods.RevokeToken: `{"tokenId":"absent"}`,
	methods.Stats:       `{}`,
}

// otherParams have the members that do not go with those of fullParams.
var otherParams = map[string][]string{
	methods.CreateConversation: {`{"conversationId":"new-CONVERSATION","participants":[{"id":"alice",` +
		`"kind":"peer"}],"policy":{"kind":"moderator","moderator":"alice"}}`},
	methods.SendMessage: {
		`{"conversationId":"CONVERSATION","payload":{"text":"t"},"finality":"turn","turnHint":{"next":"bob"}}`,
		`{"conversationId":"CONVERSATION","payload":{"text":"t"},"finality":"turn","claimId":"clm_1_x"}`,
	},
	methods.SendTrace: {`{"conversationId":"CONVERSATION","payload":{"kind":"k"},"claimId":"clm_1_x"}`},
	methods.SendDelta: {`{"conversationId":"CONVERSATION","turn":1,"claimId":"clm_1_x","index":0,"text":"t"}`},
	methods.ClaimTurn: {`{"conversationId":"CONVERSATION","claimId":"clm_1_x"}`},
	methods.StartSession: {
		`{"agentName":"helper","prompt":"p","mode":"async_poll"}`,
		`{"agentName":"helper","prompt":"p","resume":"SESSION"}`,
	},
	methods.GetContext:  {`{"conversationId":"CONVERSATION"}`},
	methods.CreateToken: {`{"agentId":"alice","claim":{"conversationId":"CONVERSATION","claimId":"clm_1_x"}}`},
}

// beyondSchemas are what the hub holds against more than the form, by the end of the member's path:
// it refuses more than the schema.
var beyondSchemas = []string{
	"startsWith", // one of the participants
	"cursor",     // one that the hub gave
	"origin",     // an origin
	".sha256",    // a file of the conversation
	"explain.seq", "explainTriggers.seq", "explainTriggers.conversationId", ".mediaType", ".name", ".offset",
	"participants",       // different ids
	"participants[0].id", // startsWith names it
	"attachments",
	"participants[0].kind", "participant.kind", // agent and executor go with some
	"policy.kind", "policy.moderator", ".next", ".when", "stopWhen",
	"turnTimeoutMs", "maxClaimMs", // the one is at most the other
	"agents", "blueprints", // different ones
	"parameters.prompt", // what the agent takes
	"decision",          // an answer goes with one of them
}

// TestSchemasRefuseWhatTheHubRefuses replaces each member of good params by many values. If the
// schema refuses a value, the hub refuses its form. If the schema accepts it, the hub does too,
// except for rules that no schema can express.
func TestSchemasRefuseWhatTheHubRefuses(t *testing.T) {
	if testing.Short() {
		t.Skip("it makes one call after another: the race detector, which is slow, learns nothing from so many")
	}
	synctest.Test(t, func(t *testing.T) {
		b := &bounder{t: t, world: newWorld(t, nil), schemas: published{t: t}, results: published{t: t, change: closed}}
		b.world.helper()
		b.bot = b.world.with(b.world.as("admin").token(`{"agentId":"bot"}`))
		for _, m := range rpc.ServedMethods() {
			params, ok := fullParams[m.Name]
			if !ok {
				t.Fatalf("there are no full params for %s", m.Name)
			}
			b.method, b.alice = m.Name, b.world.as("alice")
			if m.Name == methods.RegisterBlueprints {
				b.alice.must(methods.RegisterExecutor, `{"executorId":"x","agents":[]}`)
			}
			for _, params := range append(otherParams[m.Name], params) {
				b.member(m.Name, decodeJSON(t, []byte(params)), func(v any) any { return v })
			}
			b.alice.close()
		}
		if b.refused < 300 || b.taken < 300 {
			t.Errorf("only %d values were refused, and %d taken", b.refused, b.taken)
		}
	})
}

type bounder struct {
	t              *testing.T
	world          *world
	schemas        published
	results        published // closed
	method         string
	alice, bot     *peer
	calls          int
	refused, taken int
}

// member tries values in place of one value; whole returns the params with another value there.
func (b *bounder) member(path string, value any, whole func(any) any) {
	b.try(path, whole(value))
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			b.member(path+"."+name, v[name], func(other any) any {
				changed := maps.Clone(v)
				changed[name] = other
				return whole(changed)
			})
		}
	case []any:
		b.member(path+"[0]", v[0], func(other any) any { return whole([]any{other}) })
		for _, n := range []int{0, 2, 16, 17, 32, 33, 64, 65, 256, 257} {
			b.try(path, whole(slices.Repeat(v[:1], n)))
		}
	case string:
		for _, s := range candidateTexts {
			b.try(path, whole(s))
		}
	case json.Number:
		for _, n := range candidateIntegers {
			b.try(path, whole(n))
		}
	}
}

var candidateTexts = func() []string {
	texts := []string{
		"", "a", "hub", "cnv_a", "a b", "a\nb", "\u0085", "é", "ses_a", "-a", "_", ".", "a.b", "a@b", "~a", "open",
		"round_robin", "none", "turn", "conversation",
		"human", "tool", "peer", "active", "closed", "completed", "canceled", "message", "trace", "system", "my_turn",
		"admin", "write", "self", "later",
	}
	for _, n := range []int{63, 127, 128, 255, 256, 1 << 10, 16 << 10} {
		texts = append(texts, strings.Repeat("a", n), strings.Repeat("a", n+1))
	}
	return texts
}()

var candidateIntegers = []int64{
	-1, 0, 1, 2, 99, 100, 101, 999, 1000, 1001, 1023, 1024, 1_000_000, 1_000_001, 1 << 30, 1<<30 + 1, limits.MaxDurationMs,
	limits.MaxDurationMs + 1,
	limits.MaxAttachmentPart, limits.MaxAttachmentPart + 1, 1<<53 - 1, 1 << 53,
}

// byForm are the reasons of a refusal that is for the params alone.
var byForm = []string{"invalid_params", "validation_failed", "too_large"}

func (b *bounder) try(path string, params any) {
	b.t.Helper()
	if path == "authenticate.token" {
		return // a token that is too long is not valid
	}
	b.calls++
	id := fmt.Sprintf("c-%d", b.calls)
	b.alice.create(fmt.Sprintf(`{"conversationId":%q,"policy":{"kind":"addressed"},"participants":[{"id":"alice",`+
		`"kind":"peer"},{"id":"bob","kind":"peer"}]}`, id))
	if b.method == methods.ExplainTriggers {
		b.alice.must(methods.SendNote, fmt.Sprintf(`{"conversationId":%q,"payload":{"schema":"s","data":1}}`, id))
	}
	text, err := json.Marshal(params)
	if err != nil {
		b.t.Fatal(err)
	}
	frame := string(text)
	if strings.Contains(frame, "SHA") {
		var put parley.PutAttachmentResult
		if err := json.Unmarshal(b.alice.must(methods.PutAttachment,
			fmt.Sprintf(`{"conversationId":%q,"data":"QUJD"}`, id)), &put); err != nil {
			b.t.Fatal(err)
		}
		frame = strings.ReplaceAll(frame, "SHA", put.SHA256)
	}
	if strings.Contains(frame, "SESSION") {
		ended := b.alice.begin(`{"agentName":"helper","prompt":"p","mode":"async_poll"}`).SessionID // no call waits for it
		b.alice.must(methods.StopSession, fmt.Sprintf(`{"sessionId":%q}`, ended))
		frame = strings.ReplaceAll(frame, "SESSION", ended)
	}
	if strings.Contains(frame, "APPROVAL") {
		b.bot.create(fmt.Sprintf(`{"conversationId":"b-%s","participants":[{"id":"bot","kind":"agent"},{"id":"alice",`+
			`"kind":"peer"}]}`, id))
		frame = strings.ReplaceAll(frame, "APPROVAL", b.bot.asks("b-"+id).ApprovalID)
		if b.method == methods.GetApproval { // no call waits for it
			b.bot.must(methods.SendMessage, fmt.Sprintf(
				`{"conversationId":"b-%s","payload":{"text":"x"},"finality":"turn"}`, id))
		}
	}
	frame = strings.ReplaceAll(frame, "CONVERSATION", id)
	refused := b.schemas.check(b.method+".params", []byte(frame))
	answer := parseReply(b.t, b.alice.call(b.method, frame))
	if answer.Error == nil {
		if err := b.results.check(b.method+".result", answer.Result); err != nil {
			b.t.Errorf("%s: %#v\n%s", path, err, answer.Result)
		}
	}
	reason := answer.reason()
	hubRefuses := slices.Contains(byForm, reason)
	known := slices.ContainsFunc(beyondSchemas, func(s string) bool { return strings.HasSuffix(path, s) })
	known = known || strings.HasSuffix(path, "agentName") && strings.Contains(frame, "resume") // that of the session
	// selectors have separate rules
	known = known || strings.Contains(path, ".subscriptions")
	switch {
	case refused != nil && !hubRefuses:
		b.t.Errorf("%s: the hub says %q, the schema refuses: %v\n%.300s", path, reason, refused, frame)
	case refused == nil && hubRefuses && !known:
		b.t.Errorf("%s: the hub says %s, and the schema takes it\n%.300s", path, reason, frame)
	case refused != nil:
		b.refused++
	default:
		b.taken++
	}
}

// TestEveryBoundIsTried: the full params have every member of the schemas, so that the test above
// tries all of them.
func TestEveryBoundIsTried(t *testing.T) {
	for _, m := range rpc.ServedMethods() {
		document, _ := schema.Lookup(m.Name + ".params")
		properties, _ := decodeJSON(t, document).(map[string]any)["properties"].(map[string]any)
		params := decodeJSON(t, []byte(fullParams[m.Name])).(map[string]any)
		for _, other := range otherParams[m.Name] {
			maps.Copy(params, decodeJSON(t, []byte(other)).(map[string]any))
		}
		for name := range properties {
			if _, ok := params[name]; !ok && name != "cursor" {
				t.Errorf("the full params of %s lack %s", m.Name, name)
			}
		}
	}
}
