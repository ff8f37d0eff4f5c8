package archive_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/archive"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/journaltest"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/internal/limits"
)

// box is a runner that takes what it is offered.
type box struct {
	t      testing.TB
	h      *hub.Hub
	p      *hub.Principal
	offers chan parley.RequestTurn
	took   map[string]bool // by conversation, of those that takes took
}

// answer waits for what a call passes on.
func answer[R any](t testing.TB, call func(done func(R, error))) R {
	t.Helper()
	type both struct {
		r   R
		err error
	}
	c := make(chan both, 1)
	call(func(r R, err error) { c <- both{r, err} })
	b := <-c
	if b.err != nil {
		t.Fatal(b.err)
	}
	return b.r
}

// newBox registers a runner of the agent count; holding are the claims that it continues.
func newBox(t testing.TB, h *hub.Hub, id string, labels map[string]string, holding ...string) *box {
	t.Helper()
	x := &box{t: t, h: h, offers: make(chan parley.RequestTurn, 100)}
	x.p = h.LocalPrincipal("ops").On(h.Connect(func(n parley.ExecutorNotification) {
		if n.RequestTurn != nil {
			x.offers <- *n.RequestTurn
		}
	}, nil))
	answer(t, func(done func(parley.RegisterExecutorResult, error)) {
		h.RegisterExecutor(x.p, &parley.RegisterExecutorParams{ExecutorID: id, Mode: parley.ModePush, Capacity: 20,
			GraceMs: limits.OfflineMs, Labels: labels, Holding: holding}, done)
	})
	x.register(parley.Blueprint{Name: "count", ParametersSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`), Labels: map[string]string{"l": "1"}})
	return x
}

func (x *box) register(all ...parley.Blueprint) {
	x.t.Helper()
	answer(x.t, func(done func(parley.RegisterBlueprintsResult, error)) {
		x.h.RegisterBlueprints(x.p, &parley.RegisterBlueprintsParams{Blueprints: all}, done)
	})
}

// take takes the next offer.
func (x *box) take() parley.RequestTurn {
	x.t.Helper()
	o := <-x.offers
	answer(x.t, func(done func(parley.ClaimTurnResult, error)) {
		x.h.ClaimTurn(x.p, &parley.ClaimTurnParams{ConversationID: o.ConversationID, ClaimID: o.ClaimID}, done)
	})
	return o
}

func (x *box) end(conversation, claim string, status parley.OutcomeStatus) {
	x.t.Helper()
	answer(x.t, func(done func(parley.SendResult, error)) {
		x.h.SendMessage(x.p, &parley.SendMessageParams{
			ConversationID: conversation, ClaimID: claim, Finality: parley.FinalityConversation, Outcome: &parley.Outcome{Status: status},
			Payload: json.RawMessage(`{"result":{"result_type":"deterministic","result_text":"<forty-two>","exit_code":0}}`),
		}, done)
	})
}

// work is the result of begins: sessions that run, wait or ended, and the claim of the running one.
type work struct{ parent, running, claim, pending, waits, ended string }

// begins fills a hub, in a bubble, with all that sessions leave in logs.
func begins(t testing.TB, h *hub.Hub) work {
	t.Helper()
	ann := as(t, h, "ann")
	w := work{parent: "parent"}
	must[*parley.Snapshot](t)(ann.CreateConversation(t.Context(), &parley.CreateConversationParams{
		ConversationID: "parent", Participants: []parley.Participant{{ID: "ann", Kind: parley.KindHuman},
			{ID: "bob", Kind: parley.KindPeer}},
	}))
	x := newBox(t, h, "box", nil)
	start := func(by string, mode parley.SessionMode, parent string, demands map[string]string) string {
		t.Helper()
		s := must[*parley.Session](t)(as(t, h, by).StartSession(t.Context(), &parley.StartSessionParams{
			AgentName: "count", Mode: mode, ParentConversationID: parent, Demands: demands, Parameters: json.RawMessage(`{"n":1}`), ClientRequestID: fmt.Sprint("key ", by, parent, mode, demands),
		}))
		synctest.Wait()
		return s.SessionID
	}
	for _, by := range []string{"ann", "bob"} {
		w.ended = start(by, parley.ModeAsyncCallback, "parent", nil)
		o := x.take()
		x.end(o.ConversationID, o.ClaimID, map[string]parley.OutcomeStatus{"ann": parley.OutcomeCompleted,
			"bob": parley.OutcomeFailed}[by])
		synctest.Wait()
	}
	late := start("ann", parley.ModeAsyncPoll, "", map[string]string{"gpu": "1"})
	gpu := newBox(t, h, "gpu", map[string]string{"gpu": "1"})
	synctest.Wait()
	gpu.take()
	gpu.register() // it leaves
	synctest.Wait()
	if s := must[*parley.Session](t)(ann.GetSession(t.Context(),
		&parley.GetSessionParams{SessionID: late})); s.Reason != parley.ReasonInterrupted {
		t.Fatalf("%+v", s)
	}
	w.waits = start("bob", parley.ModeAsyncPoll, "parent", map[string]string{"gpu": "2"})
	w.running = start("ann", parley.ModeAsyncCallback, "parent", map[string]string{"l": "1"})
	w.claim = x.take().ClaimID
	w.pending = start("bob", parley.ModeAsyncPoll, "parent", nil)
	stopped := start("ann", parley.ModeAsyncPoll, "", nil)
	must[*parley.Session](t)(ann.StopSession(t.Context(), &parley.StopSessionParams{SessionID: stopped, Reason: "why not"}))
	synctest.Wait()
	return w
}

// TestSessionsBackUp: a log with sessions and runners is backed up and restored, and a hub
// continues the copy: runners reconnect, sessions end, and waits are answered.
func TestSessionsBackUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, to := memory.New(), memory.New()
		defer from.Close()
		defer to.Close()
		var w work
		var file, export []byte
		withHub(t, from, func(h *hub.Hub) {
			w = begins(t, h)
			file, export = backupOf(t, from), exportOf(t, from) // while it runs
		})
		report := must[archive.Report](t)(archive.Check(bytes.NewReader(file), nil))
		if !slices.ContainsFunc(report.Conversations,
			func(h archive.Head) bool { return h.ConversationID == "~runners" && h.Seq == 4 }) {
			t.Fatalf("%+v", report.Conversations)
		}
		importInto(t, to, file)
		journaltest.CheckInvariants(t, to)
		if !bytes.Equal(exportOf(t, to), export) || !bytes.Equal(lines(backupOf(t, to))[1], lines(file)[1]) {
			t.Error("the copy is another")
		}
		sameListsOf(t, from, to, "ann", "bob", "count", "ops")
		if bytes.Contains(export, []byte("~runners")) || bytes.Contains(export, []byte("runner_registered")) {
			t.Error("an export has the hub's own")
		}
		withHub(t, to, func(h *hub.Hub) {
			ann := as(t, h, "ann")
			agents := must[*parley.ListAgentsResult](t)(ann.ListAgents(t.Context(), nil)).Agents
			if len(agents) != 1 || agents[0].Name != "count" || agents[0].RunnerID != "box" || agents[0].Online {
				t.Fatalf("%+v", agents)
			}
			x := newBox(t, h, "box", nil, w.claim)
			x.end(w.running, w.claim, parley.OutcomeCompleted)
			if o := x.take(); o.ConversationID != w.pending {
				t.Fatalf("%+v", o)
			}
			synctest.Wait()
			s := must[*parley.Session](t)(ann.GetSession(t.Context(), &parley.GetSessionParams{SessionID: w.running}))
			if s.Status != parley.SessionCompleted || s.Callback != parley.CallbackDelivered ||
				*s.Result.ResultText != "<forty-two>" {
				t.Fatalf("%+v", s)
			}
		})
	})
}

// TestSessionsExport: sessions without their runners are taken too, and what a runner had taken has failed.
func TestSessionsExport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from, to := memory.New(), memory.New()
		defer from.Close()
		defer to.Close()
		var w work
		withHub(t, from, func(h *hub.Hub) { w = begins(t, h) })
		importInto(t, to, exportOf(t, from))
		withHub(t, to, func(h *hub.Hub) {
			synctest.Wait()
			for id, want := range map[string]string{w.running: parley.ReasonInterrupted, w.pending: parley.ReasonNoRunner, w.waits: ""} {
				p := as(t, h, "root", parley.ScopeAdmin)
				if s := must[*parley.Session](t)(p.GetSession(t.Context(),
					&parley.GetSessionParams{SessionID: id})); s.Reason != want {
					t.Errorf("%+v", s)
				}
			}
		})
	})
}

// sameListsOf is sameLists for participants.
func sameListsOf(t *testing.T, from, to journal.Journal, ids ...string) {
	t.Helper()
	for _, id := range append(ids, "") {
		label := id
		if id != "" {
			label = "p:" + id
		}
		want, got := must[[]journal.Listed](t)(from.Labeled(label, 0, 100)), must[[]journal.Listed](t)(to.Labeled(label, 0, 100))
		if fmt.Sprint(want) != fmt.Sprint(got) {
			t.Errorf("label %q: %v, expected %v", id, got, want)
		}
	}
}

// logs returns the events of the conversations of begins, by their kind.
func logs(t *testing.T) map[string][]string {
	out := map[string][]string{}
	synctest.Test(t, func(t *testing.T) {
		j := memory.New()
		defer j.Close()
		withHub(t, j, func(h *hub.Hub) {
			w := begins(t, h)
			all := map[string]string{"parent": w.parent, "ended": w.ended, "running": w.running, "~runners": "~runners"}
			for _, row := range must[[]journal.Listed](t)(j.Labeled("", 0, 100)) {
				text := ""
				for _, r := range must[[]journal.Record](t)(j.Read(row.Conversation, 0, 100, 1<<20)) {
					text += string(r.Data)
				}
				if strings.Contains(text, "session_bound") {
					all["bound"] = row.Conversation
				}
			}
			for name, id := range all {
				out[name] = []string{id}
				for _, r := range must[[]journal.Record](t)(j.Read(id, 0, 100, 1<<20)) {
					out[name] = append(out[name], string(r.Data))
				}
			}
		})
	})
	return out
}

// TestSessionsForged: logs of sessions that no hub writes are refused, with the reason.
func TestSessionsForged(t *testing.T) {
	t.Parallel()
	all := logs(t)
	parent, child := all["parent"], all["ended"]
	at := func(log []string, words string) int {
		t.Helper()
		i := slices.IndexFunc(log, func(e string) bool { return strings.Contains(e, words) })
		if i < 0 {
			t.Fatalf("there is no %s in %s", words, log)
		}
		return i
	}
	told := at(parent, "callback_type")
	closes := at(child, `"finality":"conversation"`)
	for name, c := range map[string]struct {
		of       string
		line     string // words of the event that is another
		old, new string
		want     string
	}{
		"one that has not ended":           {"parent", "callback_type", `"child_session_id":"ses_`, `"child_session_id":"ses_x`, "not ended"},
		"nobody":                           {"parent", "callback_type", `"callbacks":[`, `"callbacks":[],"x":[`, "not ended"},
		"another status":                   {"parent", "callback_type", `"status":"completed"`, `"status":"failed"`, "not what its session_ended says"},
		"another agent":                    {"parent", "callback_type", `"agent_name":"count"`, `"agent_name":"other"`, "not what its session_ended says"},
		"another kind of callback":         {"parent", "callback_type", `"callback_type":"child_completed"`, `"callback_type":"child_born"`, "of type"},
		"no result":                        {"parent", "callback_type", `"result":{"result_type":"deterministic","result_text":"<forty-two>","exit_code":0}`, `"result":null`, "without a result"},
		"a hub that goes on":               {"parent", "callback_type", `"finality":"turn"`, `"finality":"none"`, "neither closes"},
		"posed by ann":                     {"parent", "callback_type", `"from":"hub"`, `"from":"ann"`, ""}, // a message like any other: what follows does not fit
		"session_started twice":            {"parent", "session_ended", parent[at(parent, "session_ended")][strings.Index(parent[at(parent, "session_ended")], `"payload"`):], parent[2][strings.Index(parent[2], `"payload"`):], "runs"},
		"ended as something else":          {"parent", "session_ended", `"status":"completed"`, `"status":"running"`, "session_ended with status"},
		"the end of another":               {"parent", "session_ended", `"sessionId":"ses_`, `"sessionId":"ses_x`, "does not run"},
		"a session of nobody":              {"parent", "session_started", `"agentId":"ann"`, `"agentId":"eve"`, "does not take part"},
		"an id that is none":               {"parent", "session_started", `"sessionId":"ses_`, `"sessionId":"cnv_`, "session_started of"},
		"a mode that is none":              {"parent", "session_started", `"mode":"async_callback"`, `"mode":"later"`, "in mode"},
		"an agent that is none":            {"parent", "session_started", `"agent":"count"`, `"agent":"a b"`, "a session of"},
		"started by ann":                   {"parent", "session_started", `"from":"hub"`, `"from":"ann"`, "not from hub"},
		"a caller who is somebody else":    {"ended", "conversation_created", `"caller":"bob"`, `"caller":"eve"`, "its caller, a peer, and its agent"},
		"an agent who is not there":        {"ended", "conversation_created", `"agentId":"count"`, `"agentId":"eve"`, "its caller, a peer, and its agent"},
		"too deep":                         {"ended", "conversation_created", `"depth":1`, `"depth":9`, "depth 9"},
		"of no depth":                      {"ended", "conversation_created", `"depth":1`, `"depth":0`, "depth 0"},
		"a root of its own":                {"ended", "conversation_created", `"root":"parent"`, `"root":"` + all["ended"][0] + `"`, "root"},
		"a callback to nobody":             {"ended", "conversation_created", `"parent":"parent",`, ``, "in mode"},
		"no time":                          {"ended", "conversation_created", `"timeoutMs":300000`, `"timeoutMs":0`, "timeoutMs"},
		"another type":                     {"ended", "conversation_created", `"type":"deterministic"`, `"type":"oracle"`, "of type"},
		"a runner that is none":            {"ended", "conversation_created", `"runnerId":"box"`, `"runnerId":"a b"`, "the runner"},
		"a result of the caller":           {"ended", `"parameters"`, `"payload":{"parameters":{"n":1}}`, `"payload":{"result":{"result_type":"deterministic","result_text":"x"}}`, "payload.result is for the agent"},
		"parameters of the agent":          {"ended", `"finality":"conversation"`, `"payload":{"result"`, `"payload":{"parameters":{},"result"`, "payload.parameters is only for"},
		"a result that is none":            {"ended", `"finality":"conversation"`, `"result_type":"deterministic"`, `"result_type":"oracle"`, "result_type"},
		"a result before the end":          {"ended", `"finality":"conversation"`, `"finality":"conversation","outcome":{"status":"failed"}`, `"finality":"turn"`, ""},
		"the claim of another executor":    {"ended", "turn_claimed", `"executorId":"box"`, `"executorId":"fox"`, "whose session it is not"},
		"a turn that is given up":          {"running", "turn_claimed", all["running"][at(all["running"], "turn_claimed")][strings.Index(all["running"][at(all["running"], "turn_claimed")], `"payload"`):], `"payload":{"kind":"turn_ended","turn":2,"agentId":"count","reason":"skipped"}}`, "in the session of a deterministic agent"},
		"bound twice":                      {"ended", "turn_claimed", child[at(child, "turn_claimed")][strings.Index(child[at(child, "turn_claimed")], `"payload"`):], `"payload":{"kind":"session_bound","runnerRef":{"runnerId":"box","participantId":"ops"}}}`, "session_bound where it cannot be"},
		"bound to nobody":                  {"bound", "session_bound", `"runnerId":"gpu"`, `"runnerId":""`, "the runner"},
		"bound without a runner":           {"bound", "session_bound", `"runnerRef"`, `"ref"`, "session_bound"},
		"an end without a result":          {"bound", `"finality":"conversation"`, `,"result":{"result_type":"deterministic","result_text":null,"error":"Runner disconnected during execution"}`, ``, "has a result"},
		"a registration in a conversation": {"parent", "session_started", `"kind":"session_started"`, `"kind":"runner_registered"`, "not the hub's own"},
	} {
		t.Run(name, func(t *testing.T) {
			id, log := all[c.of][0], slices.Clone(all[c.of][1:])
			i := at(log, c.line)
			if !strings.Contains(log[i], c.old) {
				t.Fatalf("%s is not in %s", c.old, log[i])
			}
			log[i] = strings.Replace(log[i], c.old, c.new, 1)
			err := archive.CheckImport(t.Context(), bytes.NewReader(forge(t, id, log...)), nil, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) || c.want != "" &&
				!strings.HasPrefix(err.Error(), fmt.Sprintf("line %d: ", i+1)) {
				t.Errorf("%v, expected %q in line %d", err, c.want, i+1)
			}
		})
	}
	add := func(name, id string, log []string, event, want string) {
		t.Helper()
		seq := len(log) + 1
		event = strings.Replace(event, `"seq":0`, fmt.Sprintf(`"seq":%d`, seq), 1)
		err := archive.CheckImport(t.Context(), bytes.NewReader(forge(t, id, append(slices.Clone(log), event)...)), nil, nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), fmt.Sprintf("line %d: ", seq)) {
			t.Errorf("%s: %v, expected %q in line %d", name, err, want, seq)
		}
	}
	sys := func(payload string) string {
		return `{"seq":0,"type":"system","from":"hub","at":"2026-01-01T00:00:00.000Z","payload":` + payload + `}`
	}
	renumbered := func(e string) string { return `{"seq":0` + e[strings.Index(e, `,"t`):] }
	add("told twice", "parent", parent[1:told+1], renumbered(strings.Replace(parent[told], `"turn":1,`, `"turn":2,`, 1)), "whose callback was sent before")
	add("ended twice", "parent", parent[1:told+1], renumbered(parent[at(parent, "session_ended")]), "does not run")
	add("started again", "parent", parent[1:told+1], renumbered(parent[2]), "was started before")
	add("somebody who comes to a session", child[0], child[1:closes], sys(`{"kind":"participant_added","participant":{"id":"eve","kind":"peer"},"addedBy":"bob"}`), "added to a session")
	unclaimed := child[1:at(child, "turn_claimed")]
	add("a command without a claim", child[0], unclaimed, `{"seq":0,"turn":2,"type":"message","from":"count","at":"2026-01-01T00:00:00.000Z","finality":"conversation","payload":{"text":"x"}}`, "without a claim")
	open := append(slices.Clone(parent[1:told]), fmt.Sprintf(`{"seq":%d,"turn":1,"type":"message","from":"ann","at":"2000-01-01T00:00:00.000Z","finality":"none","payload":{"text":"x"}}`, told))
	add("a callback into an open turn", "parent", open, renumbered(parent[told]), "between two turns")
	for name, log := range all {
		if strings.HasPrefix(log[0], "~") {
			continue
		}
		if err := archive.CheckImport(t.Context(), bytes.NewReader(forge(t, log[0], log[1:]...)), nil, nil); err != nil {
			t.Errorf("%s, as it is: %v", name, err)
		}
		if err := archive.CheckImport(t.Context(), bytes.NewReader(forge(t, "another", log[1:]...)), nil,
			nil); (err != nil) != (name != "parent") {
			t.Errorf("%s, under another id: %v", name, err)
		}
	}
	if err := archive.CheckImport(t.Context(), bytes.NewReader(forge(t, "ses_old", created)), nil, nil); err != nil {
		t.Errorf("a conversation whose id begins like a session's: %v", err)
	}
}

// TestRunnersForged: the log of runners comes with backups only, and has nothing but what runners say.
func TestRunnersForged(t *testing.T) {
	t.Parallel()
	log := logs(t)["~runners"][1:]
	if err := archive.CheckImport(t.Context(), bytes.NewReader(forge(t, "~runners", log...)), nil, nil); err == nil ||
		!strings.Contains(err.Error(), "from a backup only") {
		t.Errorf("of an export: %v", err)
	}
	whole := func(log []string) []byte {
		j := memory.New()
		defer j.Close()
		for i, e := range log {
			if _, err := journal.Append(t.Context(), j, journal.Batch{Conversation: "~runners", After: int64(i),
				Events: [][]byte{[]byte(e)}}); err != nil {
				t.Fatal(err)
			}
		}
		return backupOf(t, j)
	}
	if err := archive.CheckImport(t.Context(), bytes.NewReader(whole(log)), nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		line          int
		old, new, why string
	}{
		{0, `"title"`, `"participants":[{"id":"eve","kind":"peer"}],"title"`, "does not belong in ~runners"},
		{1, `"runner_registered"`, `"token_revoked"`, "does not belong in ~runners"},
		{1, `"runner_registered"`, `"note"`, "does not belong in ~runners"},
		{1, `"runnerId":"box"`, `"runnerId":"../box"`, "the runner"},
		{1, `"participantId":"ops"`, `"participantId":""`, "the runner"},
		{1, `"name":"count"`, `"name":"a@b"`, "no name of an agent"},
		{1, `"parameters_schema"`, `"params_via":"pipes","parameters_schema"`, "params_via"},
		{1, `"labels":{"l":"1"}`, `"labels":{"":"1"}`, "labels"},
		{1, `"blueprints":[`, `"blueprints":[],"x":[`, "0 blueprints"},
		{3, `"runner_left"`, `"runner_registered"`, "does not belong"},
		{3, `"runnerId":"gpu"`, `"runnerId":""`, "the runner"},
	} {
		forged := slices.Clone(log)
		if !strings.Contains(forged[c.line], c.old) {
			t.Fatalf("%s is not in %s", c.old, forged[c.line])
		}
		forged[c.line] = strings.Replace(forged[c.line], c.old, c.new, 1)
		err := archive.CheckImport(t.Context(), bytes.NewReader(whole(forged)), nil, nil)
		if err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s for %s: %v, expected %q", c.new, c.old, err, c.why)
		}
	}
}
