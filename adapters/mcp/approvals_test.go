package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/mcp"
	"github.com/parleyhub/parley/sdk"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// approvalView is an approval in the results of the tools.
type approvalView struct {
	ApprovalID string `json:"approval_id"`
	Status     string
	Title      string
	MayAnswer  bool            `json:"may_answer"`
	Details    json.RawMessage `json:"details"`
	Answer     json.RawMessage `json:"answer"`
	AnsweredBy string          `json:"answered_by"`
	AboutText  string          `json:"about_text"`
	NextOffset int             `json:"next_offset"`
	Rest       string
	Duplicate  bool
}

type approvalList struct {
	Approvals  []approvalView
	NextCursor string `json:"next_cursor"`
	Next       string
}

// requestingBot is an agent that works on its turn in a conversation with alice.
type requestingBot struct {
	t            *testing.T
	client       parley.Client
	conversation string
	claim        string
}

func newRequestingBot(t *testing.T, h *sdktest.Hub) *requestingBot {
	t.Helper()
	bot := h.Client(t, "bot")
	s, err := bot.CreateConversation(t.Context(), &parley.CreateConversationParams{
		Participants: []parley.Participant{{ID: "bot", Kind: parley.KindAgent}, {ID: "alice", Kind: parley.KindHuman}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := bot.ClaimTurn(t.Context(), &parley.ClaimTurnParams{ConversationID: s.ConversationID, Turn: 1})
	if err != nil {
		t.Fatal(err)
	}
	return &requestingBot{t, bot, s.ConversationID, c.ClaimID}
}

func (b *requestingBot) requestApproval(key, title string, details, schema json.RawMessage) *parley.Approval {
	b.t.Helper()
	a, err := b.client.RequestApproval(b.t.Context(), &parley.RequestApprovalParams{
		ConversationID: b.conversation, ClaimID: b.claim, Key: key, Title: title, Details: details, AnswerSchema: schema,
	})
	if err != nil {
		b.t.Fatal(err)
	}
	return a
}

// newPersonIDE connects an IDE whose user may answer approvals.
func newPersonIDE(t *testing.T, h *sdktest.Hub, change func(*mcp.Options)) *ide {
	t.Helper()
	c := h.Dial(t, &sdk.Options{Token: h.NewToken(t, "alice", parley.ScopeRead, parley.ScopeWrite, parley.ScopeApprove)})
	return newIDE(t, h, "alice", func(o *mcp.Options) {
		o.Connect = mcp.Client(c)
		if change != nil {
			change(o)
		}
	})
}

// An IDE is notified of a waiting approval, reads its details, and answers once. Each result names
// the next call.
func TestApproval(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	bot, alice := newRequestingBot(t, h), newPersonIDE(t, h, nil)
	if text := alice.must("list_approvals", map[string]any{}, nil); text != "No approval waits for your answer." {
		t.Errorf("before: %s", text)
	}
	asked := bot.requestApproval("k", "Refund 120 EUR", json.RawMessage(`{"eur":120}`),
		json.RawMessage(`{"type":"object","properties":{"eur":{"maximum":120}}}`))
	var u struct{ Approvals []approvalView }
	wait := map[string]any{"conversation_id": bot.conversation, "wait_seconds": 0}
	text := alice.must("wait_for_updates", wait, &u)
	if len(u.Approvals) != 1 || u.Approvals[0].ApprovalID != asked.ApprovalID || !strings.Contains(text,
		fmt.Sprintf("%s, bot requests %q. list_approvals", asked.ApprovalID, asked.Title)) {
		t.Errorf("approvals of the wait: %+v: %s", u, text)
	}
	var l approvalList
	text = alice.must("list_approvals", map[string]any{}, &l)
	if len(l.Approvals) != 1 || !l.Approvals[0].MayAnswer || string(l.Approvals[0].Details) != `{"eur":120}` ||
		l.NextCursor != "" ||
		!strings.Contains(text, `{"eur":120}`) || !strings.Contains(text, `"maximum":120`) || !strings.Contains(text,
		fmt.Sprintf("answer_approval {approval_id: %q", asked.ApprovalID)) {
		t.Errorf("%+v: %s", l, text)
	}
	answer := map[string]any{"approval_id": asked.ApprovalID, "decision": "approved", "comment": "less",
		"answer": map[string]any{"eur": 500}}
	alice.refused("answer_approval", answer, "validation_failed", "maximum of 120")
	answer["answer"] = map[string]any{"eur": 100}
	var v approvalView
	answer["client_request_id"] = "mine"
	for _, duplicate := range []bool{false, true} { // the second call is a repetition
		if alice.must("answer_approval", answer, &v); v.Status != "approved" || v.AnsweredBy != "alice" ||
			v.Duplicate != duplicate {
			t.Errorf("answered, duplicate %v: %+v", duplicate, v)
		}
	}
	got, err := bot.client.GetApproval(t.Context(), &parley.GetApprovalParams{ApprovalID: asked.ApprovalID})
	if err != nil || got.Status != parley.ApprovalApproved || got.By != "alice" || string(got.Answer) != `{"eur":100}` ||
		got.Comment != "less" {
		t.Errorf("result for bot: %+v, %v", got, err)
	}
	alice.refused("answer_approval", map[string]any{"approval_id": asked.ApprovalID, "decision": "rejected"},
		"already_resolved", "approved", "list_approvals {approval_id")
	text = alice.must("list_approvals", map[string]any{"approval_id": asked.ApprovalID}, &l)
	if len(l.Approvals) != 1 || l.Approvals[0].Status != "approved" || l.Approvals[0].MayAnswer ||
		string(l.Approvals[0].Answer) != `{"eur":100}` || !strings.Contains(text, "approved by alice") {
		t.Errorf("%+v: %s", l, text)
	}
	if text := alice.must("wait_for_updates", wait, nil); strings.Contains(text, "waited for") {
		t.Errorf("an approval still waits: %s", text)
	}
}

// An answer of any type reaches the agent as the client encoded it, and the key that all
// participants can read does not depend on it.
func TestApprovalAnswerKeepsItsJSON(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	bot, alice := newRequestingBot(t, h), newPersonIDE(t, h, nil)
	var seq int64
	for i, want := range []string{`{"id":9007199254740993,"eur":1.10}`, `[1,"two"]`, `"text"`, `9007199254740993`, `true`,
		`null`, `"text"`} {
		asked := bot.requestApproval(fmt.Sprint(i), "Which?", nil, json.RawMessage(`true`))
		text := alice.must("answer_approval", map[string]any{"approval_id": asked.ApprovalID, "decision": "approved",
			"answer": json.RawMessage(want)}, nil)
		got, err := bot.client.GetApproval(t.Context(), &parley.GetApprovalParams{ApprovalID: asked.ApprovalID})
		if err != nil || string(got.Answer) != want {
			t.Errorf("%s becomes %s, %v: %s", want, got.Answer, err, text)
		}
		seq = got.Seq
	}
	page, err := bot.client.Tail(t.Context(), &parley.TailParams{ConversationID: bot.conversation, SinceSeq: 0})
	if err != nil || page.NextSeq < seq {
		t.Fatalf("%+v, %v", page, err)
	}
	keys := map[string]bool{}
	for _, e := range page.Events {
		if sys, err := e.System(); err == nil && sys.Kind == parley.KindApprovalResolved {
			keys[e.ClientRequestID] = true
		}
	}
	if len(keys) != 7 || keys[""] {
		t.Errorf("the keys are %v", keys)
	}
	asked := bot.requestApproval("again", "Which?", nil, json.RawMessage(`true`))
	args := map[string]any{"approval_id": asked.ApprovalID, "decision": "approved", "answer": 1}
	alice.must("answer_approval", args, nil)
	alice.refused("answer_approval", args, "already_resolved", "approved")
}

// Each refusal names the reason, the fault and the next call. No caller without the scope can
// answer, and no agent can.
func TestApprovalRefusals(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	bot, alice := newRequestingBot(t, h), newPersonIDE(t, h, nil)
	id := bot.requestApproval("k", "May I?", nil, nil).ApprovalID
	asker := newIDE(t, h, "bot", func(o *mcp.Options) {
		o.Connect = mcp.Client(h.Dial(t, &sdk.Options{Token: h.NewToken(t, "bot", parley.ScopeRead, parley.ScopeApprove)}))
	})
	for _, c := range []struct {
		by    *ide
		tool  string
		args  map[string]any
		words []string
	}{
		{alice, "answer_approval", map[string]any{"approval_id": id}, []string{"decision"}},
		{alice, "answer_approval", map[string]any{"approval_id": id, "decision": "perhaps"}, []string{"decision", "perhaps"}},
		{alice, "answer_approval", map[string]any{"approval_id": id, "decision": "approved", "answer": map[string]any{}},
			[]string{"validation_failed", "answer"}},
		{alice, "answer_approval", map[string]any{"approval_id": "none.3", "decision": "approved"},
			[]string{"not_found", "list_approvals"}},
		{alice, "list_approvals", map[string]any{"approval_id": "none.3"}, []string{"not_found", "list_approvals"}},
		{alice, "list_approvals", map[string]any{"offset": 1}, []string{"validation_failed", "approval_id"}},
		{alice, "list_approvals", map[string]any{"approval_id": id, "cursor": "x"}, []string{"validation_failed"}},
		{alice, "list_approvals", map[string]any{"status": "open"}, []string{"status"}},
		{newIDE(t, h, "alice", nil), "answer_approval", map[string]any{"approval_id": id, "decision": "approved"},
			[]string{"forbidden", "scope approve"}},
		{asker, "answer_approval", map[string]any{"approval_id": id, "decision": "approved"},
			[]string{"forbidden", "the requester of"}},
		{newIDE(t, h, "zed", nil), "list_approvals", map[string]any{"approval_id": id}, []string{"not_found"}},
	} {
		c.by.refused(c.tool, c.args, c.words...)
	}
	if text := asker.must("list_approvals", map[string]any{}, nil); !strings.Contains(text, "for others to answer") ||
		strings.Contains(text, "answer_approval") {
		t.Errorf("the agent may answer: %s", text)
	}
	if text := asker.must("wait_for_updates", map[string]any{"conversation_id": bot.conversation, "wait_seconds": 0},
		nil); strings.Contains(text, "waited for") {
		t.Errorf("the agent is asked to answer: %s", text)
	}
	got, err := bot.client.GetApproval(t.Context(), &parley.GetApprovalParams{ApprovalID: id})
	if err != nil || got.Status != parley.ApprovalPending {
		t.Errorf("after all refusals: %+v, %v", got, err)
	}
}

// Pages with long details stay short, and the calls that they name read the rest.
func TestApprovalPageIsBounded(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	h := sdktest.NewHub(t)
	bot, alice := newRequestingBot(t, h), newPersonIDE(t, h, nil)
	details := raw(t, map[string]string{"letter": strings.Repeat("ü", 30_000)})
	const n = 25
	for i := range n {
		bot.requestApproval(fmt.Sprint(i), strings.Repeat("t", parley.MaxTitleBytes), details, nil)
	}
	seen, rest := 0, ""
	for args, pages := (map[string]any{}), 1; ; pages++ {
		var l approvalList
		r := alice.call("list_approvals", args)
		if err := json.Unmarshal(raw(t, r.StructuredContent), &l); err != nil {
			t.Fatal(err)
		}
		if shown, structured := utf8.RuneCountInString(schemaText(r)), utf8.RuneCount(raw(t,
			r.StructuredContent)); shown > mcp.MaxChars+2000 || structured > mcp.MaxChars+2000 {
			t.Errorf("page %d: %d characters of text, %d structured", pages, shown, structured)
		}
		for _, a := range l.Approvals {
			if seen++; !strings.Contains(schemaText(r), a.Rest) || a.Rest == "" || a.AboutText == "" {
				t.Errorf("page %d does not name the call that reads the rest: %+v", pages, a)
			}
		}
		if rest = l.Approvals[0].ApprovalID; l.NextCursor == "" {
			break
		}
		if args["cursor"] = l.NextCursor; pages > 10 {
			t.Fatal("the pages do not end")
		}
	}
	if seen != n {
		t.Errorf("%d approvals, expected %d", seen, n)
	}
	var whole strings.Builder
	for args := (map[string]any{"approval_id": rest}); ; {
		var l approvalList
		alice.must("list_approvals", args, &l)
		whole.WriteString(l.Approvals[0].AboutText)
		if l.Approvals[0].NextOffset == 0 {
			break
		}
		args["offset"] = l.Approvals[0].NextOffset
	}
	if want := `{"details":` + string(details) + `}`; whole.String() != want {
		t.Errorf("the pieces differ from the details: %d bytes of %d", whole.Len(), len(want))
	}
	var u struct{ Approvals []approvalView }
	var text string
	// a wait lists no approvals if the hub takes more than two seconds for over a megabyte
	for try := 0; try < 10 && len(u.Approvals) == 0; try++ {
		text = alice.must("wait_for_updates", map[string]any{"conversation_id": bot.conversation, "wait_seconds": 0}, &u)
	}
	if len(u.Approvals) != 5 || len(text) > 2000 {
		t.Errorf("a wait lists %d approvals in %d bytes", len(u.Approvals), len(text))
	}
}

// Clients learn which tool answers and which reads, and that no decision is the default. Without
// the tool, or read-only, a wait lists no approvals.
func TestApprovalTools(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	bot := newRequestingBot(t, h)
	bot.requestApproval("k", "May I?", nil, nil)
	alice := newPersonIDE(t, h, nil)
	list, err := alice.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	tools := map[string]*protocol.Tool{}
	for _, tool := range list.Tools {
		tools[tool.Name] = tool
	}
	if a := tools["list_approvals"].Annotations; !a.ReadOnlyHint {
		t.Errorf("list_approvals: %+v", a)
	}
	if a := tools["answer_approval"].Annotations; a.ReadOnlyHint || a.DestructiveHint == nil || !*a.DestructiveHint ||
		!a.IdempotentHint {
		t.Errorf("answer_approval: %+v", a)
	}
	var schema struct {
		Required   []string
		Properties map[string]struct {
			Description string
			Default     any
			Enum        []string
		}
	}
	if err := json.Unmarshal(raw(t, tools["answer_approval"].InputSchema), &schema); err != nil {
		t.Fatal(err)
	}
	if d := schema.Properties["decision"]; d.Default != nil || len(d.Enum) != 2 || strings.Join(schema.Required,
		" ") != "approval_id decision" {
		t.Errorf("the decision is %+v, and required are %v", d, schema.Required)
	}
	for name, p := range schema.Properties {
		if p.Description == "" {
			t.Errorf("%s is not described", name)
		}
	}
	without := newPersonIDE(t, h, func(o *mcp.Options) { o.Toolsets = []mcp.Toolset{mcp.Conversations} })
	if text := without.must("wait_for_updates", map[string]any{"conversation_id": bot.conversation, "wait_seconds": 0},
		nil); strings.Contains(text, "list_approvals") {
		t.Errorf("without the tools: %s", text)
	}
}
