package a2a

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/sdk/sdktest"
)

var foldSeed = flag.Uint64("fold.seed", 0, "plays this one log in TestFoldOfRealLogs")

// Random actions of a caller and others in a real hub produce a log, whose fold must have the
// properties of every fold.
func TestFoldOfRealLogs(t *testing.T) {
	h := sdktest.NewHub(t)
	seen := map[a2a.TaskState]int{}
	withdrawn := 0
	runs := uint64(60)
	if testing.Short() {
		runs = 20
	}
	for seed := uint64(1); seed <= runs; seed++ {
		if *foldSeed != 0 && seed != *foldSeed {
			continue
		}
		r := recordRandomLog(t, h, seed)
		checkFold(t, r)
		for _, e := range r.events {
			if s, err := e.System(); err == nil && s.ResetFrom > 0 {
				withdrawn++
			}
		}
		l := r.fold(0, false)
		for i := range r.events {
			for _, u := range r.take(l, i, false) {
				if e, ok := u.event.(*a2a.TaskStatusUpdateEvent); ok {
					seen[e.Status.State]++
				}
			}
		}
		if t.Failed() {
			t.Fatalf("with -fold.seed=%d", seed)
		}
	}
	for _, state := range []a2a.TaskState{
		a2a.TaskStateCompleted, a2a.TaskStateCanceled, a2a.TaskStateFailed, a2a.TaskStateRejected, a2a.TaskStateInputRequired,
		a2a.TaskStateAuthRequired,
	} {
		if *foldSeed == 0 && seen[state] == 0 {
			t.Errorf("no task has become %s: the draw proves nothing of it (%v)", state, seen)
		}
	}
	if *foldSeed == 0 && withdrawn == 0 {
		t.Error("nothing was withdrawn")
	}
	t.Logf("states %v, %d times withdrawn", seen, withdrawn)
}

// hubLog is a log of a hub with the floor of alice after each event.
type hubLog struct {
	id     string
	room   bool
	policy parley.PolicyKind
	events []parley.Event // with traces
	floor  []bool
	closed bool
}

// fold folds the first n events. With lie, it passes the opposite floor where the fold does not
// need it.
func (r *hubLog) fold(n int, lie bool) *taskFold {
	l := newTaskFold("alice", r.room, r.id, "ctx")
	for i := range n {
		r.take(l, i, lie)
	}
	return l
}

func (r *hubLog) take(l *taskFold, i int, lie bool) []update {
	floor := r.floor[i]
	if lie && !l.needsFloor(&r.events[i]) {
		floor = !floor
	}
	return l.fold(&r.events[i], floor)
}

// recordRandomLog creates a conversation with a policy chosen by the seed, and lets everyone act in
// it. The hub may refuse most actions.
func recordRandomLog(t *testing.T, h *sdktest.Hub, seed uint64) *hubLog {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 7))
	policies := []parley.Policy{
		{Kind: parley.PolicyRoundRobin}, {Kind: parley.PolicyOpen}, {Kind: parley.PolicyAddressed},
		{Kind: parley.PolicyModerator, Moderator: "bob"},
		{Kind: parley.PolicyRules, Rules: []parley.Rule{{When: `last.text.contains("@alice")`, Next: "alice"},
			{When: `last.from == "bob"`, Next: "alice"}, {When: `last.text.contains("x")`, Next: "carol"}}},
	}
	policy := policies[seed%uint64(len(policies))]
	p := &parley.CreateConversationParams{
		Participants: []parley.Participant{{ID: "alice", Kind: parley.KindPeer}, {ID: "bob", Kind: parley.KindAgent},
			{ID: "carol", Kind: parley.KindAgent}},
		Policy: &policy, StartsWith: "alice",
	}
	if policy.Kind == parley.PolicyModerator {
		p.StartsWith = ""
	}
	if rng.IntN(3) == 0 {
		p.Participants = append(p.Participants, parley.Participant{ID: "dave", Kind: parley.KindHuman})
	}
	if rng.IntN(6) == 0 {
		p.Limits = &parley.Limits{MaxTurns: int64(3 + rng.IntN(12))}
	}
	admin := h.InProcess(t, "admin", parley.Scopes...)
	snap, err := admin.CreateConversation(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	d := &drawing{t: t, rng: rng, admin: admin, id: snap.ConversationID, room: rng.IntN(2) == 0,
		clients: map[string]parley.Client{}}
	for _, one := range p.Participants {
		d.clients[one.ID] = h.InProcess(t, one.ID)
		d.ids = append(d.ids, one.ID)
	}
	for range 25 + rng.IntN(50) {
		d.act()
	}
	return d.read(policy.Kind)
}

type drawing struct {
	t       *testing.T
	rng     *rand.Rand
	admin   parley.Client
	id      string
	room    bool
	clients map[string]parley.Client
	ids     []string
	n       int
	claim   string // the last claim
	holder  string
}

func pick[T any](rng *rand.Rand, all ...T) T { return all[rng.IntN(len(all))] }

// act performs one action.
func (d *drawing) act() {
	ctx := d.t.Context()
	d.n++
	g, err := d.admin.GetGuidance(ctx, &parley.GetGuidanceParams{ConversationID: d.id})
	if err != nil || g.Guidance.Kind == parley.Closed {
		return
	}
	who := g.Guidance.Speaker
	if who == "" || d.rng.IntN(10) == 0 {
		who = pick(d.rng, d.ids...)
	}
	c := d.clients[who]
	switch k := d.rng.IntN(20); {
	case k < 11 || who == "alice" && k < 16:
		d.say(who)
	case k == 11:
		_, err = c.SendTrace(ctx, &parley.SendTraceParams{ConversationID: d.id,
			Payload: json.RawMessage(`{"kind":"progress","text":"on it"}`), ClaimID: d.claimOf(who)})
	case k == 12:
		var r *parley.ClaimTurnResult
		if r, err = c.ClaimTurn(ctx, &parley.ClaimTurnParams{ConversationID: d.id, Turn: g.Guidance.Turn}); err == nil {
			d.claim, d.holder = r.ClaimID, who
		}
	case k <= 15 && d.claim != "":
		err = d.clients[d.holder].ReleaseClaim(ctx, &parley.ReleaseClaimParams{ConversationID: d.id, ClaimID: d.claim,
			Outcome: pick(d.rng, parley.ReleaseFailed, parley.ReleaseDecline, parley.ReleaseYield)})
		d.claim = ""
	case k == 16:
		_, err = d.admin.CancelTurn(ctx, &parley.CancelTurnParams{ConversationID: d.id, Turn: g.Guidance.Turn})
	case k == 17:
		note := parley.Note{Schema: noteCanceled, Data: json.RawMessage(fmt.Sprintf(`{"taskId":"%s.%d"}`, d.id,
			1+d.rng.IntN(d.n+2)))}
		if live, _ := d.live(); live != "" && d.rng.IntN(2) == 0 {
			note.Data = json.RawMessage(fmt.Sprintf(`{"taskId":%q}`, live))
		}
		_, err = d.clients[pick(d.rng, d.ids...)].SendNote(ctx, &parley.SendNoteParams{ConversationID: d.id, Payload: note})
	case k == 18 && d.rng.IntN(8) == 0:
		_, err = d.admin.CloseConversation(ctx, &parley.CloseConversationParams{ConversationID: d.id,
			Outcome: &parley.Outcome{Status: pick(d.rng, parley.OutcomeCompleted, parley.OutcomeFailed,
				parley.OutcomeCanceled)}})
	}
	d.refused(err)
}

func (d *drawing) claimOf(who string) string {
	if who == d.holder {
		return d.claim
	}
	return ""
}

// refused accepts the refusals that the hub may return.
func (d *drawing) refused(err error) {
	var refusal *parley.Error
	if err != nil && !errors.As(err, &refusal) {
		d.t.Fatal(err)
	}
}

func (d *drawing) say(who string) {
	m := map[string]any{"text": fmt.Sprintf("%s %d %s", who, d.n, pick(d.rng, "", "x", "@bob", "@carol", "@alice"))}
	finality := pick(d.rng, parley.FinalityTurn, parley.FinalityTurn, parley.FinalityTurn, parley.FinalityNone)
	about := map[string]any{}
	if who == "alice" {
		if finality == parley.FinalityNone && d.rng.IntN(4) > 0 {
			finality = parley.FinalityTurn
		}
		if d.rng.IntN(4) > 0 {
			about["messageId"] = fmt.Sprintf("m%d", d.n)
		}
		if live, _ := d.live(); live != "" && d.rng.IntN(3) > 0 {
			about["taskId"] = live
		}
	} else {
		switch d.rng.IntN(9) {
		case 0:
			m["tags"] = []string{"input_required"}
		case 1:
			about["state"] = pick(d.rng, "input-required", "auth-required", "rejected", "failed", "completed", "nonsense")
		case 2:
			m["data"] = d.n
		}
	}
	if len(about) > 0 {
		m["a2a"] = about
	}
	if d.rng.IntN(60) == 0 {
		finality = parley.FinalityConversation
	}
	raw, _ := json.Marshal(m)
	q := &parley.SendMessageParams{ConversationID: d.id, Payload: raw, Finality: finality, ClaimID: d.claimOf(who)}
	r, err := d.clients[who].SendMessage(d.t.Context(), q)
	if errors.Is(err, parley.ErrClaimLost) {
		q.ClaimID, d.claim = "", ""
		r, err = d.clients[who].SendMessage(d.t.Context(), q)
	}
	d.refused(err)
	switch {
	case err == nil && finality.Final() && who == d.holder:
		d.claim = ""
	case err == nil && r.ClaimID != "":
		d.claim, d.holder = r.ClaimID, who
	}
}

// live returns the live task.
func (d *drawing) live() (a2a.TaskID, bool) {
	r := d.read("")
	return r.fold(len(r.events), false).liveTask()
}

// read reads the log as the fold receives it.
func (d *drawing) read(policy parley.PolicyKind) *hubLog {
	d.t.Helper()
	r := &hubLog{id: d.id, room: d.room, policy: policy}
	page, err := d.admin.Tail(d.t.Context(), &parley.TailParams{ConversationID: d.id, Limit: parley.MaxPage})
	if err != nil || page.NextSeq != page.LatestSeq {
		d.t.Fatalf("tail: %v", err)
	}
	r.events = page.Events
	probe := newTaskFold("alice", d.room, d.id, "ctx")
	for i := range r.events {
		e := &r.events[i]
		r.closed = e.Closes()
		floor := false
		if policy != "" || probe.needsFloor(e) {
			x, err := d.admin.Explain(d.t.Context(), &parley.ExplainParams{ConversationID: d.id, Seq: e.Seq})
			if err != nil {
				d.t.Fatal(err)
			}
			floor = slices.ContainsFunc(x.Guidance, func(g parley.ParticipantGuidance) bool {
				return g.ParticipantID == "alice" && g.Guidance.Kind == parley.MaySpeak
			})
		}
		r.floor = append(r.floor, floor)
		probe.fold(e, floor)
	}
	return r
}

// checkFold checks the properties of every fold.
func checkFold(t *testing.T, r *hubLog) {
	t.Helper()
	all := newTaskFold("alice", r.room, r.id, "ctx")
	var streams [][]update               // by event
	var snaps []map[a2a.TaskID]*a2a.Task // after each event
	for i := range r.events {
		streams = append(streams, r.take(all, i, true))
		snap := map[a2a.TaskID]*a2a.Task{}
		for _, id := range all.tasks() {
			snap[id] = all.task(id)
		}
		snaps = append(snaps, snap)
		checkEnded(t, r, snaps)
		checkFloor(t, r, all, i)
		if e := r.events[i]; e.Type == parley.TypeMessage && r.take(all, i, false) != nil {
			t.Errorf("event %d was taken twice", e.Seq)
		}
	}
	checkIDs(t, streams)
	checkWithoutTraces(t, r, all)
	for c := range snaps {
		if at := r.fold(c+1, false); !reflect.DeepEqual(tasksOf(at), snaps[c]) {
			t.Errorf("the tasks after %d events depend on how they were taken", c+1)
		}
		for id := range all.byID {
			checkStream(t, r, id, c, snaps, streams)
		}
	}
}

func tasksOf(l *taskFold) map[a2a.TaskID]*a2a.Task {
	all := map[a2a.TaskID]*a2a.Task{}
	for _, id := range l.tasks() {
		all[id] = l.task(id)
	}
	return all
}

// checkEnded checks that an ended task does not change.
func checkEnded(t *testing.T, r *hubLog, snaps []map[a2a.TaskID]*a2a.Task) {
	t.Helper()
	n := len(snaps)
	if n < 2 {
		return
	}
	for id, before := range snaps[n-2] {
		if before.Status.State.Terminal() && !reflect.DeepEqual(before, snaps[n-1][id]) {
			t.Errorf("event %d has changed %s, which had ended", r.events[n-1].Seq, id)
		}
	}
}

// checkFloor checks that no task is working when only the caller may speak, or the conversation is
// closed.
func checkFloor(t *testing.T, r *hubLog, l *taskFold, i int) {
	t.Helper()
	id, waits := l.liveTask()
	if id == "" {
		return
	}
	if r.events[i].Closes() {
		t.Errorf("event %d closes, and %s lives", r.events[i].Seq, id)
	}
	if !waits && r.floor[i] && r.policy != parley.PolicyOpen {
		t.Errorf("after event %d alice may speak, and %s is %s", r.events[i].Seq, id, l.task(id).Status.State)
	}
}

// checkIDs checks that the ids of an event are its seq, and numbers before the last one.
func checkIDs(t *testing.T, streams [][]update) {
	t.Helper()
	seen := map[string]bool{}
	for _, s := range streams {
		for i, u := range s {
			at := u.event.Meta()[CursorExtension].(map[string]any)["seq"]
			want := fmt.Sprint(at)
			if i < len(s)-1 {
				want = fmt.Sprintf("%v.%d", at, i+1)
			}
			if u.id != want || seen[u.id] {
				t.Errorf("an update has the id %s, not %s (or twice)", u.id, want)
			}
			seen[u.id] = true
		}
	}
}

// checkWithoutTraces checks that the tasks are the same without traces.
func checkWithoutTraces(t *testing.T, r *hubLog, all *taskFold) {
	t.Helper()
	l := newTaskFold("alice", r.room, r.id, "ctx")
	for i := range r.events {
		if r.events[i].Type != parley.TypeTrace {
			r.take(l, i, false)
		}
	}
	l.seq = all.seq
	if !reflect.DeepEqual(tasksOf(l), tasksOf(all)) {
		t.Error("the tasks depend on traces")
	}
}

// checkStream checks that the task after event c, plus the later updates of a stream, equals the
// last task.
func checkStream(t *testing.T, r *hubLog, id a2a.TaskID, c int, snaps []map[a2a.TaskID]*a2a.Task, streams [][]update) {
	t.Helper()
	m := &mirror{}
	if task := snaps[c][id]; task != nil {
		m.begin(task)
	}
	for i := c + 1; i < len(r.events); i++ {
		for _, u := range streams[i] {
			if u.event.TaskInfo().TaskID == id {
				m.take(u)
			}
		}
		m.hear(&r.events[i], snaps[i][id])
	}
	end := snaps[len(snaps)-1][id]
	if got, want := m.summary(), mirrorOf(end).summary(); got != want {
		t.Errorf("%s from event %d on: a stream tells\n%s\nthe task is\n%s", id, r.events[c].Seq, got, want)
	}
}

// mirror is the knowledge of a client about a task: a snapshot, a stream and its own messages.
type mirror struct {
	begun    bool
	status   a2a.TaskStatus
	messages map[int64]*a2a.Message
	arts     []*a2a.Artifact
}

func mirrorOf(t *a2a.Task) *mirror {
	m := &mirror{}
	m.begin(t)
	return m
}

func (m *mirror) begin(t *a2a.Task) {
	m.begun, m.status, m.arts, m.messages = true, t.Status, slices.Clone(t.Artifacts), map[int64]*a2a.Message{}
	for _, h := range t.History {
		m.know(h)
	}
	m.know(t.Status.Message)
}

func (m *mirror) know(h *a2a.Message) {
	if h != nil {
		m.messages[h.Metadata[AuthorExtension].(map[string]any)["seq"].(int64)] = h
	}
}

func (m *mirror) take(u update) {
	switch e := u.event.(type) {
	case *a2a.Task:
		m.begin(e)
	case *a2a.TaskArtifactUpdateEvent:
		m.arts = append(m.arts, e.Artifact)
	case *a2a.TaskStatusUpdateEvent:
		if w, ok := e.Metadata[CursorExtension].(map[string]any)["withdrawn"].([]int64); ok {
			for seq := range m.messages {
				if seq >= w[0] && seq <= w[1] {
					delete(m.messages, seq)
				}
			}
		}
		m.status = e.Status
		m.know(e.Status.Message)
	}
}

// hear adds a message of the client.
func (m *mirror) hear(e *parley.Event, t *a2a.Task) {
	if !m.begun || e.From != "alice" || e.Type != parley.TypeMessage || t == nil {
		return
	}
	for _, h := range t.History {
		if h.Role == a2a.MessageRoleUser && h.Metadata[AuthorExtension].(map[string]any)["seq"] == e.Seq {
			m.know(h)
		}
	}
}

// summary returns all records in a stable order.
func (m *mirror) summary() string {
	var seqs []int64
	for seq := range m.messages {
		seqs = append(seqs, seq)
	}
	slices.Sort(seqs)
	var history []*a2a.Message
	for _, seq := range seqs {
		history = append(history, m.messages[seq])
	}
	raw, _ := json.MarshalIndent([]any{m.status, history, m.arts}, "", " ")
	return string(raw)
}
