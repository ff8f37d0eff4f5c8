package archive_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/archive"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/bolt"
	"github.com/parleyhub/parley/hub/journal/journaltest"
	"github.com/parleyhub/parley/internal/limits"
)

// listeners are the blueprints of the runner of ops, one of each kind: two that are woken on their seats, one by turns, and two that watch the workspace lab.
func listeners() []parley.Blueprint {
	prompt := json.RawMessage(`{"type":"object","properties":{"prompt":{"type":"string"},"n":{}}}`)
	return []parley.Blueprint{
		{Name: "calc", Type: parley.AgentTypeFunction, ParametersSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`), Subscriptions: json.RawMessage(`[{"schema_name":"ask.v1"}]`)},
		{Name: "flow", Type: parley.AgentTypeWorkflow, ParametersSchema: prompt, Subscriptions: json.RawMessage(`[{"schema_name":"tool.response.v1"}]`)},
		{
			Name: "bot", Type: parley.AgentTypeAgent, AgentConfig: json.RawMessage(`{"model":"openai:gpt-4o"}`), ParametersSchema: prompt,
			Subscriptions: json.RawMessage(`{"selectors":[{"schema_name":"chat.v1"}],"max_context_bytes":4096}`),
		},
		{Name: "watch", ParametersSchema: prompt, Subscriptions: json.RawMessage(`[{"schema_name":"ask.v1","scope":"workspace"}]`)},
		{Name: "late", ParametersSchema: prompt, Subscriptions: json.RawMessage(`[{"schema_name":"late.v1","scope":"workspace"}]`)},
	}
}

// station connects the runner of ops, whose token grants the workspace lab.
func station(t testing.TB, h *hub.Hub, holding ...string) *box {
	t.Helper()
	x := &box{t: t, h: h, offers: make(chan parley.RequestTurn, 100)}
	x.p = h.LocalPrincipal("ops").SpeakingAs("calc", "flow", "bot", "watch",
		"late").WithWorkspaces("lab").On(h.Connect(func(n parley.ExecutorNotification) {
		if n.RequestTurn != nil {
			x.offers <- *n.RequestTurn
		}
	}, nil))
	answer(t, func(done func(parley.RegisterExecutorResult, error)) {
		h.RegisterExecutor(x.p, &parley.RegisterExecutorParams{ExecutorID: "station", Agents: []string{"bot"},
			Mode: parley.ModePush, Capacity: 20, GraceMs: limits.OfflineMs, Holding: holding}, done)
	})
	x.register(listeners()...)
	return x
}

// takes takes the next offer to an agent; those to others stay. What it took before may have been offered twice.
func (x *box) takes(agent string) parley.RequestTurn {
	x.t.Helper()
	if x.took == nil {
		x.took = map[string]bool{}
	}
	late := time.After(5 * time.Minute)
	var others []parley.RequestTurn
	for {
		var o parley.RequestTurn
		select {
		case o = <-x.offers:
		case <-late:
			x.t.Fatalf("nothing is offered to %s, and %d to others", agent, len(others))
		}
		if x.took[o.ConversationID] {
			continue
		}
		if o.AgentID != agent {
			others = append(others, o)
			continue
		}
		for _, other := range others {
			x.offers <- other
		}
		x.took[o.ConversationID] = true
		answer(x.t, func(done func(parley.ClaimTurnResult, error)) {
			x.h.ClaimTurn(x.p, &parley.ClaimTurnParams{ConversationID: o.ConversationID, ClaimID: o.ClaimID}, done)
		})
		return o
	}
}

// gives ends a session with a result.
func (x *box) gives(o parley.RequestTurn, kind parley.AgentType) {
	x.t.Helper()
	answer(x.t, func(done func(parley.SendResult, error)) {
		x.h.SendMessage(x.p, &parley.SendMessageParams{
			ConversationID: o.ConversationID, ClaimID: o.ClaimID, Finality: parley.FinalityConversation,
			Payload: json.RawMessage(`{"result":{"result_type":"` + string(kind) + `","result_text":"<y>"}}`),
		}, done)
	})
}

// notes posts a note of ann's.
func notes(t testing.TB, h *hub.Hub, schema, data string) int64 {
	t.Helper()
	return must[*parley.SeqResult](t)(as(t, h, "ann").SendNote(t.Context(),
		&parley.SendNoteParams{ConversationID: "lab1", Payload: parley.Note{Schema: schema,
			Data: json.RawMessage(data)}})).Seq
}

// counts waits until the log of lab1 has n events with the words.
func counts(t testing.TB, h *hub.Hub, n int, words string) {
	t.Helper()
	c := as(t, h, "root", parley.ScopeAdmin)
	for after := int64(0); n > 0; {
		r := must[*parley.Snapshot](t)(c.GetConversation(t.Context(),
			&parley.GetConversationParams{ConversationID: "lab1", SinceSeq: after, Limit: 100}))
		for _, e := range r.Events {
			if after = e.Seq; strings.Contains(string(e.Raw()), words) {
				n--
			}
		}
		if len(r.Events) > 0 {
			continue
		}
		if w := must[*parley.WaitForChangeResult](t)(c.WaitForChange(t.Context(),
			&parley.WaitForChangeParams{ConversationID: "lab1", SinceSeq: after, TimeoutMs: 10_000})); w.LatestSeq == after {
			t.Fatalf("%d of %s are missing", n, words)
		}
	}
}

// crowd is how many events wake one agent: more than may run at once.
const crowd = limits.MaxLiveSessions/2 + 3

// wakes fills a hub with all records that triggers leave in logs. It returns the current claims, of
// a turn and of a session.
func wakes(t testing.TB, h *hub.Hub) (bot, watch parley.RequestTurn) {
	t.Helper()
	ann := h.Client(h.LocalPrincipal("ann").WithWorkspaces("lab"))
	t.Cleanup(func() { ann.Close() })
	must[*parley.Snapshot](t)(ann.CreateConversation(t.Context(), &parley.CreateConversationParams{
		ConversationID: "lab1", Workspace: "lab", Policy: &parley.Policy{Kind: parley.PolicyTriggers}, Limits: &parley.Limits{MaxHops: 2, MaxWakesPerMinute: 1}, Participants: []parley.Participant{
			{ID: "ann", Kind: parley.KindHuman}, {ID: "calc", Kind: parley.KindTool}, {ID: "flow",
				Kind: parley.KindTool}, {ID: "bot", Kind: parley.KindAgent},
		},
	}))
	must[*parley.CreateTokenResult](t)(as(t, h, "admin", parley.ScopeAdmin).CreateToken(t.Context(),
		&parley.CreateTokenParams{AgentID: "eve", Workspaces: []string{"lab"}}))
	x := station(t, h)
	notes(t, h, "ask.v1", `{"input":{"n":1}}`)
	x.gives(x.takes("calc"), parley.AgentTypeFunction)
	x.gives(x.takes("watch"), parley.AgentTypeDeterministic)
	counts(t, h, 2, `"agent":"flow","mode"`) // one of them was started by who takes no part
	notes(t, h, "ask.v1", `{"input":{"n":"one"}}`)
	counts(t, h, 1, "trigger_ended")
	watch = x.takes("watch")
	for range crowd {
		notes(t, h, "late.v1", `{}`)
	}
	counts(t, h, limits.MaxLiveSessions/2, `"agent":"late","mode"`)
	must[*parley.SendResult](t)(ann.SendMessage(t.Context(), &parley.SendMessageParams{
		ConversationID: "lab1", Finality: parley.FinalityTurn, Payload: json.RawMessage(`{"text":"hello","schema":"chat.v1"}`),
	}))
	bot = x.takes("bot")
	counts(t, h, 1, `"turn_claimed"`)
	return bot, watch
}

// TestTriggersBackUp: a log with workspaces and triggers is backed up and restored, and a hub
// continues the copy: the running turn and session end, and each waiting match is served once.
func TestTriggersBackUp(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: make test runs it, without the race detector")
	}
	from, dir := newBolt(t), filepath.Join(t.TempDir(), "copy")
	var bot, watch parley.RequestTurn
	var file, export []byte
	withHub(t, from, func(h *hub.Hub) {
		bot, watch = wakes(t, h)
		file, export = backupOf(t, from), exportOf(t, from)
	})
	to := openBolt(t, dir)
	importInto(t, to, file)
	journaltest.CheckInvariants(t, to)
	if !bytes.Equal(exportOf(t, to), export) {
		t.Error("the copy is another")
	}
	if rows := must[[]journal.Listed](t)(to.Labeled("w:lab", 0, 10)); len(rows) != 1 || rows[0].Conversation != "lab1" {
		t.Errorf("of the workspace: %v", rows)
	}
	withHub(t, to, func(h *hub.Hub) {
		eve := h.Client(h.LocalPrincipal("eve").WithWorkspaces("lab"))
		t.Cleanup(func() { eve.Close() })
		if r := must[*parley.ListConversationsResult](t)(eve.ListConversations(t.Context(),
			&parley.ListConversationsParams{Workspace: "lab"})); len(r.Conversations) != 1 ||
			r.Conversations[0].Workspace != "lab" {
			t.Errorf("%+v", r.Conversations)
		}
		x := station(t, h, bot.ClaimID, watch.ClaimID)
		said := answer(t, func(done func(parley.SendResult, error)) {
			h.SendMessage(x.p, &parley.SendMessageParams{ConversationID: "lab1", ClaimID: bot.ClaimID, Finality: parley.FinalityTurn, Payload: json.RawMessage(`{"text":"hi"}`)}, done)
		})
		r := must[*parley.Snapshot](t)(eve.GetConversation(t.Context(),
			&parley.GetConversationParams{ConversationID: "lab1", SinceSeq: said.Seq - 1, Limit: 1}))
		if e := r.Events[0]; e.Cause == nil || e.Hops != 1 {
			t.Errorf("the turn goes on without its cause: %s", e.Raw())
		}
		x.gives(watch, parley.AgentTypeDeterministic)
		for range 2 {
			x.gives(x.takes("flow"), parley.AgentTypeWorkflow)
		}
		for range crowd {
			x.gives(x.takes("late"), parley.AgentTypeDeterministic)
		}
		counts(t, h, crowd, `{"agent":"late","session_id"`)
		counts(t, h, 2, `{"agent":"flow","session_id"`)
	})
	importInto(t, newBolt(t), backupOf(t, to)) // the later events are imported too
}

// TestTriggersExport: without their runner the matches that wait end, each with an answer.
func TestTriggersExport(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: make test runs it, without the race detector")
	}
	from, to := newBolt(t), newBolt(t)
	withHub(t, from, func(h *hub.Hub) { wakes(t, h) })
	importInto(t, to, exportOf(t, from))
	withHub(t, to, func(h *hub.Hub) { counts(t, h, crowd, `{"agent":"late","session_id"`) })
	importInto(t, newBolt(t), backupOf(t, to))
}

// logOf returns the id and the events of a conversation.
func logOf(t testing.TB, j *bolt.Journal, id string) []string {
	t.Helper()
	log := []string{id}
	for _, r := range must[[]journal.Record](t)(j.Read(id, 0, 10_000, 1<<30)) {
		log = append(log, string(r.Data))
	}
	return log
}

// TestTriggersForged: logs of triggers that no hub writes are refused, with the reason.
func TestTriggersForged(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: make test runs it, without the race detector")
	}
	j := newBolt(t)
	withHub(t, j, func(h *hub.Hub) { wakes(t, h) })
	lab, runners, tokens := logOf(t, j, "lab1"), logOf(t, j, "~runners"), logOf(t, j, "~tokens")
	i := slices.IndexFunc(lab, func(e string) bool { return strings.Contains(e, `"agent":"flow","mode"`) })
	_, rest, _ := strings.Cut(lab[i], `"sessionId":"`)
	id, _, _ := strings.Cut(rest, `"`)
	for name, c := range map[string]struct {
		of             []string
		line, old, new string
		want           string
	}{
		"a selector that is none":           {lab, "trigger_matched", `"selector":0`, `"selector":99`, "by the selector 99"},
		"a session that is none":            {lab, "trigger_matched", `"sessionId":"ses_`, `"sessionId":"cnv_`, "by the session"},
		"another agent on the seat":         {lab, "trigger_matched", `{"agent":"calc"`, `{"agent":"eve"`, "no agent of the conversation"},
		"somebody who is not there":         {lab, "trigger_matched", `"agent":"calc","agentId":"calc"`, `"agent":"eve","agentId":"eve"`, "cannot be woken so"},
		"a person":                          {lab, "trigger_matched", `"agent":"calc","agentId":"calc"`, `"agent":"ann","agentId":"ann"`, "cannot be woken so"},
		"a watcher under another name":      {lab, "trigger_matched", `{"agent":"watch"`, `{"agent":"eve"`, "watches a workspace"},
		"a reason to stop that is none":     {lab, "trigger_matched", `"sessionId":"` + sessionIn(lab, "trigger_matched") + `"`, `"stopped":"tired"`, "is stopped by"},
		"an answer without a schema":        {lab, "trigger_matched", `,"answerSchema":"tool.response.v1"`, ``, "which answers with"},
		"another event":                     {lab, "trigger_matched", `"seq":2,"wakes"`, `"seq":1,"wakes"`, "does not follow"},
		"nobody":                            {lab, "trigger_matched", `"wakes":[`, `"wakes":[],"x":[`, "does not follow"},
		"with a reason":                     {lab, "trigger_matched", `"wakes":[`, `"reason":"interrupted","wakes":[`, "what is for trigger_ended"},
		"matched by ann":                    {lab, "trigger_matched", `"from":"hub"`, `"from":"ann"`, "not from hub"},
		"no workspace":                      {lab, "conversation_created", `,"workspace":"lab"`, ``, "watches a workspace"},
		"a workspace that is none":          {lab, "conversation_created", `"workspace":"lab"`, `"workspace":"a b"`, "workspace"},
		"fewer hops":                        {lab, "conversation_created", `"maxHops":2`, `"maxHops":1`, "in spite of max_hops"},
		"more hops than there may be":       {lab, "conversation_created", `"maxHops":2`, `"maxHops":101`, "maxHops"},
		"started by another":                {lab, `"agent":"flow","mode"`, `"agentId":"calc"`, `"agentId":"ann"`, "a session of"},
		"another agent started":             {lab, `"agent":"flow","mode"`, `"agent":"flow"`, `"agent":"calc"`, "a session of"},
		"another mode":                      {lab, `"agent":"flow","mode"`, `"async_poll"`, `"async_callback"`, "a session of"},
		"started without its hops":          {lab, `"agent":"flow","mode"`, `,"hops":2`, ``, "expected none after 2 hops"},
		"ended without its hops":            {lab, "session_ended", `,"hops":1`, ``, "expected none after 1 hops"},
		"an answer without its cause":       {lab, `{"agent":"calc","session_id"`, `,"cause":{"seq":2}`, ``, "it has the cause none"},
		"an answer of a watcher without it": {lab, `{"agent":"watch","session_id"`, `,"cause":{"seq":2},"hops":1`, ``, "watch does not take part"},
		"an answer of a stranger":           {lab, `{"agent":"watch","session_id"`, `"from":"watch"`, `"from":"eve"`, "eve does not take part"},
		"an answer of another session":      {lab, `{"agent":"calc","session_id"`, `"session_id":"ses_`, `"session_id":"ses_x`, "not what its end says"},
		"an answer with another status":     {lab, `{"agent":"calc","session_id"`, `"status":"completed"`, `"status":"failed"`, "not what its end says"},
		"an answer of another schema":       {lab, `{"agent":"watch","session_id"`, `"schema":"tool.response.v1"`, `"schema":"ask.v1"`, "watch does not take part"},
		"an answer with a key":              {lab, `{"agent":"watch","session_id"`, `,"cause":{"seq":2}`, `,"clientRequestId":"k","cause":{"seq":2}`, "watch does not take part"},
		"a note with a cause":               {lab, `"schema":"late.v1"`, `"data":{}}`, `"data":{}},"cause":{"seq":2},"hops":1`, "it has the cause 2 after 1 hops"},
		"a message with hops":               {lab, `"schema":"chat.v1"`, `"schema":"chat.v1"}`, `"schema":"chat.v1"},"hops":3`, "after 3 hops"},
		"a match that ends otherwise":       {lab, "trigger_ended", `"reason":"not_started"`, `"reason":"tired"`, "trigger_ended with reason"},
		"the end of another match":          {lab, "trigger_ended", `"sessionId":"ses_`, `"sessionId":"ses_x`, "does not wait"},
		"a type that is none":               {runners, "runner_registered", `"type":"workflow"`, `"type":"oracle"`, "type"},
		"a workflow with a config":          {runners, "runner_registered", `"type":"workflow"`, `"type":"workflow","agent_config":{}`, "agent_config"},
		"a function that is a command":      {runners, "runner_registered", `"type":"function",`, `"type":"function","params_via":"stdin",`, ""},
		"watched workspaces that are none":  {runners, "runner_registered", `"workspaces":["lab"]`, `"workspaces":["lab","*"]`, "workspace"},
		"granted workspaces that are none":  {tokens, "token_created", `"workspaces":["lab"]`, `"workspaces":["*"]`, "workspace"},
		"tokens of a workspace":             {tokens, "conversation_created", `"title"`, `"workspace":"lab","title"`, ""},
		"the root's session, no trigger":    {logOf(t, j, id), "conversation_created", `"trigger":{"seq":`, `"trigger":{"seq":9`, "another cause"},
		"a session after too many hops":     {logOf(t, j, id), "conversation_created", `"hops":2`, `"hops":101`, "after 101 hops"},
		"a session for nothing":             {logOf(t, j, id), "conversation_created", `"hops":2`, `"hops":0`, ""},
		"a session in another mode":         {logOf(t, j, id), "conversation_created", `"mode":"async_poll"`, `"mode":"sync"`, "in another way"},
		"a session of a workspace":          {logOf(t, j, id), "conversation_created", `"session":{`, `"workspace":"lab","session":{`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			log := slices.Clone(c.of[1:])
			i := slices.IndexFunc(log, func(e string) bool { return strings.Contains(e, c.line) && strings.Contains(e, c.old) })
			if i < 0 {
				t.Fatalf("there is no %s with %s in\n%s", c.line, c.old, strings.Join(log[:min(len(log), 30)], "\n"))
			}
			log[i] = strings.Replace(log[i], c.old, c.new, 1)
			file := forge(t, c.of[0], log...)
			if strings.HasPrefix(c.of[0], "~") {
				file = wholeOf(t, c.of[0], log)
			}
			err := archive.CheckImport(t.Context(), bytes.NewReader(file), nil, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, expected %q", err, c.want)
			}
		})
	}
	for _, log := range [][]string{lab, logOf(t, j, id)} {
		if err := archive.CheckImport(t.Context(), bytes.NewReader(forge(t, log[0], log[1:]...)), nil, nil); err != nil {
			t.Errorf("%s, as it is: %v", log[0], err)
		}
	}
	again := fmt.Sprintf(`{"seq":%d,"type":"system","from":"hub","at":"2999-01-01T00:00:00.000Z","payload":{"kind":"trigger_matched","trigger":{"seq":%d,"wakes":[{"agent":"calc","agentId":"calc","selector":0,"sessionId":"%s","answerSchema":"a.v1"}]}}}`,
		len(lab)+1, len(lab), sessionIn(lab, `"session_ended"`))
	note := fmt.Sprintf(`{"seq":%d,"type":"system","from":"ann","at":"2999-01-01T00:00:00.000Z","payload":{"kind":"note","schema":"x.v1","data":{}}}`, len(lab))
	if err := archive.CheckImport(t.Context(), bytes.NewReader(forge(t, "lab1", append(slices.Clone(lab[1:]), note,
		again)...)), nil, nil); err == nil || !strings.Contains(err.Error(), "was started before") {
		t.Errorf("a session twice: %v", err)
	}
}

// sessionIn returns the session that the first event with the words names.
func sessionIn(log []string, words string) string {
	i := slices.IndexFunc(log, func(e string) bool { return strings.Contains(e, words) })
	_, rest, _ := strings.Cut(log[i], `"sessionId":"`)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}

// wholeOf returns a backup of one log.
func wholeOf(t testing.TB, id string, log []string) []byte {
	t.Helper()
	j := newBolt(t)
	for i, e := range log {
		if _, err := journal.Append(t.Context(), j, journal.Batch{Conversation: id, After: int64(i),
			Events: [][]byte{[]byte(e)}}); err != nil {
			t.Fatal(err)
		}
	}
	return backupOf(t, j)
}
