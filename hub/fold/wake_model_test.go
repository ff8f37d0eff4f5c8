package fold_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/fold/idempotency"
)

// answerSchema is that of the answers of sessions. No other note has it.
const answerSchema = "answer.v1"

// waker plays random commands on a conversation whose events wake agents. The wakes are random too, some with unknown
// seats.
type waker struct {
	state  fold.State
	keys   idempotency.Keys
	stored [][]byte
	now    parley.Timestamp
	ids    int
	ledger ledger
	seen   map[string]int // the kinds of events so far
}

// TestWaking checks random logs: the matches are those of a plain reading, each ends once, no limit is exceeded, and
// the agent of the first match has the floor between turns.
func TestWaking(t *testing.T) {
	seen, missing := map[string]int{}, []string(nil)
	// -rapid.checks is for one round; rare events need more
	for round := 0; round < 3 || round < 40 && len(missing) > 0; round++ {
		rapid.Check(t, func(rt *rapid.T) { testWaking(rt, seen) })
		missing = unseen(seen)
	}
	if len(missing) > 0 {
		t.Errorf("never seen: %v (%v)", missing, seen)
	}
}

// unseen is what random commands must have led to before their test says anything, and has not happened yet.
func unseen(seen map[string]int) []string {
	return slices.DeleteFunc([]string{
		parley.StoppedMaxHops, parley.StoppedMaxWakes, "woken by turn", "woken by session", "consumed by turn",
		"consumed by session", "answered", "first woken", "trigger_ended", "anyone",
		"person", "hops",
	}, func(what string) bool { return seen[what] > 0 })
}

func testWaking(rt *rapid.T, seen map[string]int) {
	w := &waker{state: fold.State{ID: "cnv"}, keys: idempotency.Keys{}, now: 1_000_000, seen: seen}
	w.ledger.running = map[string]bool{}
	create := w.drawCreate(rt)
	w.ledger.params = *create.Do.(*fold.Create).Params
	w.do(rt, create)
	for range rapid.SampledFrom([]int{2, 40, 80}).Draw(rt, "steps") {
		w.now += parley.Timestamp(rapid.SampledFrom([]int64{0, 1, 1, 29_000, 61_000}).Draw(rt, "dt"))
		w.do(rt, w.draw(rt))
		w.floor(rt)
	}
	replayed(rt, w.stored, w.state)
}

func (w *waker) drawCreate(rt *rapid.T) fold.Command {
	q := &parley.CreateConversationParams{Workspace: "lab"}
	for _, id := range everybody[:rapid.IntRange(1, 4).Draw(rt, "n")] {
		kind := rapid.SampledFrom([]parley.ParticipantKind{parley.KindAgent, parley.KindAgent, parley.KindTool,
			parley.KindHuman, parley.KindPeer}).Draw(rt, "kind")
		q.Participants = append(q.Participants, parley.Participant{ID: id, Kind: kind})
	}
	q.Policy = &parley.Policy{Kind: rapid.SampledFrom([]parley.PolicyKind{
		parley.PolicyTriggers, parley.PolicyTriggers, parley.PolicyTriggers, parley.PolicyTriggers, parley.PolicyRoundRobin,
		parley.PolicyOpen,
	}).Draw(rt, "policy")}
	if rapid.IntRange(0, 2).Draw(rt, "starts") == 0 {
		q.StartsWith = rapid.SampledFrom(q.Participants).Draw(rt, "startsWith").ID
	}
	q.Limits = &parley.Limits{
		MaxAttempts:   rapid.IntRange(1, 3).Draw(rt, "maxAttempts"),
		MaxEvents:     rapid.SampledFrom([]int64{0, 0, 30}).Draw(rt, "maxEvents"),
		TurnTimeoutMs: rapid.SampledFrom([]int64{0, 1000}).Draw(rt, "turnTimeout"),
		OnTurnTimeout: rapid.SampledFrom([]parley.TurnTimeout{"", parley.TurnSkip, parley.TurnSkip, parley.TurnClose}).
			Draw(rt, "onTurnTimeout"),
		MaxAutonomousTurns: rapid.SampledFrom([]int64{0, 0, 3}).Draw(rt, "maxAutonomous"),
		MaxHops:            rapid.SampledFrom([]int{0, 1, 2, 3}).Draw(rt, "maxHops"),
		MaxWakesPerMinute:  rapid.SampledFrom([]int{0, 1, 3}).Draw(rt, "maxWakes"),
	}
	return fold.Command{Do: &fold.Create{Params: q}, From: "maker"}
}

var wakingActions = slices.Concat(
	slices.Repeat([]fold.Action{&fold.Message{}}, 10), slices.Repeat([]fold.Action{&fold.Note{}}, 4),
	slices.Repeat([]fold.Action{&fold.StartChild{}, &fold.EndChild{}}, 3),
	[]fold.Action{
		&fold.Trace{}, &fold.Take{}, &fold.Take{}, &fold.Release{}, &fold.Release{}, &fold.Cancel{}, &fold.EndClaim{},
		&fold.Timeout{}, &fold.Timeout{}, &fold.EndTrigger{}, &fold.EndTrigger{}, &fold.Tick{},
	},
)

func (w *waker) draw(rt *rapid.T) fold.Command {
	s := &w.state
	cmd := fold.Command{Do: drawAction(rt, wakingActions), Key: rapid.SampledFrom(someKeys).Draw(rt, "key")}
	cmd.From = rapid.SampledFrom(everybody[:5]).Draw(rt, "from")
	if f := s.Floor(); f.Speaker != "" && rapid.IntRange(0, 4).Draw(rt, "any") > 0 {
		cmd.From = f.Speaker
	}
	w.ids++
	claim := fold.NewClaim{New: eventdata.HashClaim(eventdata.ClaimID(s.CurrentTurn(), strconv.Itoa(w.ids)))}
	renewed := int64(0)
	if s.Claim != nil && rapid.IntRange(0, 9).Draw(rt, "names") > 0 {
		cmd.Named, renewed = &s.Claim.Hash, s.Claim.RenewedSeq
	}
	switch a := cmd.Do.(type) {
	case *fold.Message:
		a.Turn, a.Payload, a.NewClaim = s.CurrentTurn(), text("x"), claim
		a.Finality = rapid.SampledFrom([]parley.Finality{none, turn, turn, turn, turn}).Draw(rt, "finality")
		if rapid.IntRange(0, 40).Draw(rt, "ends") == 0 {
			a.Finality = conversation
		}
		a.Wakes = w.drawWakes(rt)
	case *fold.Note:
		a.Note = &parley.Note{Schema: "s", Data: json.RawMessage(`1`)}
		a.Wakes = w.drawWakes(rt)
	case *fold.Trace:
		a.Turn, a.Payload, a.NewClaim = s.CurrentTurn(), json.RawMessage(`{"kind":"k"}`), claim
	case *fold.Take:
		a.Turn, a.NewClaim = s.CurrentTurn(), claim
	case *fold.Cancel:
		a.Turn = s.CurrentTurn()
	case *fold.Release:
		a.Reason = rapid.SampledFrom([]parley.ClaimEnd{
			parley.ClaimYielded, parley.ClaimYielded, parley.ClaimDeclined, parley.ClaimFailed,
		}).Draw(rt, "reason")
	case *fold.EndClaim:
		cmd.From, a.RenewedSeq = parley.HubID, renewed
		a.Reason = rapid.SampledFrom([]parley.ClaimEnd{parley.ClaimExpired, parley.ClaimDisconnected}).Draw(rt, "reason")
		if cmd.Named == nil {
			cmd.Do = &fold.Tick{}
		}
	case *fold.Timeout:
		cmd.From, a.Asked = parley.HubID, rapid.Bool().Draw(rt, "asked")
		if asks := s.Asks(); len(asks) > 0 {
			ask := rapid.SampledFrom(asks).Draw(rt, "ask")
			a.AgentID, a.Since = ask.AgentID, ask.Since
		}
	case *fold.StartChild, *fold.EndChild, *fold.EndTrigger:
		w.drawSession(rt, &cmd)
	}
	return cmd
}

// drawWakes draws whom subscriptions would have an event wake: some that cannot be.
func (w *waker) drawWakes(rt *rapid.T) []parley.Wake {
	var wakes []parley.Wake
	for range rapid.IntRange(0, 3).Draw(rt, "wakes") {
		id := rapid.SampledFrom([]string{"a", "a", "b", "b", "c", "d", "stranger", "watcher"}).Draw(rt, "woken")
		wake := parley.Wake{Agent: id, AgentID: id, Selector: rapid.IntRange(0, 2).Draw(rt, "selector"),
			AnswerSchema: answerSchema, Workspace: id == "watcher"}
		if rapid.Bool().Draw(rt, "session") || wake.Workspace {
			wake.SessionID = w.newSession(rt)
		}
		wakes = append(wakes, wake)
	}
	return wakes
}

// newSession returns a new id, and sometimes a used one.
func (w *waker) newSession(rt *rapid.T) string {
	if w.ids++; w.ids > 1 && rapid.IntRange(0, 9).Draw(rt, "old") == 0 {
		return fmt.Sprint("ses_", rapid.IntRange(1, w.ids).Draw(rt, "which"))
	}
	return fmt.Sprint("ses_", w.ids)
}

// drawSession draws an event of a session, mostly one that a match started.
func (w *waker) drawSession(rt *rapid.T, cmd *fold.Command) {
	cmd.From, cmd.Key = parley.HubID, ""
	child := fold.Child{ID: w.newSession(rt), By: "a", Agent: "b", Mode: parley.ModeAsyncPoll}
	var answer fold.Answer
	var woken []fold.Match
	for _, m := range w.state.Matches {
		if m.SessionID != "" {
			woken = append(woken, m)
		}
	}
	if len(woken) > 0 && rapid.IntRange(0, 5).Draw(rt, "known") > 0 {
		m := rapid.SampledFrom(woken).Draw(rt, "match")
		child = fold.Child{ID: m.SessionID, By: m.By, Agent: m.Agent, Mode: parley.ModeAsyncPoll, Hops: m.Hops + 1}
		answer = fold.Answer{By: m.AgentID, Note: &parley.Note{Schema: answerSchema, Data: json.RawMessage(`{}`)},
			Wakes: w.drawWakes(rt)}
	}
	switch a := cmd.Do.(type) {
	case *fold.StartChild:
		a.Child = child
	case *fold.EndChild:
		a.SessionID, a.Answer, a.Status = child.ID, answer, parley.SessionCompleted
	case *fold.EndTrigger:
		a.SessionID, a.Answer = child.ID, answer
	}
}

func (w *waker) do(rt *rapid.T, cmd fold.Command) {
	cmd.Now = w.now
	before, unstarted := w.state, w.seen[parley.KindTriggerEnded]
	d := fold.Decide(w.state, w.keys, cmd)
	if errors.Is(d.Err, parley.ErrInternal) || d.Err != nil && len(d.Events) > 0 {
		rt.Fatalf("%+v: %v with %d events", cmd, d.Err, len(d.Events))
	}
	if !reflect.DeepEqual(before, w.state) {
		rt.Fatal("Decide changed the state that it was given")
	}
	finished, answers := w.ledger.finished, w.ledger.answers
	for i := range d.Events {
		e := &d.Events[i]
		w.ledger.read(rt, &e.Event)
		if canonical, err := e.Event.Encode(); err != nil || string(canonical) != string(e.Data) {
			rt.Fatalf("encoding %s, Event.Encode gives %s, %v", e.Data, canonical, err)
		}
		w.stored = append(w.stored, e.Data)
		enter(&w.keys, e)
		w.see(e)
	}
	w.state = d.State
	w.ledger.compare(rt, &w.state)
	ended, answered := w.ledger.finished-finished, w.ledger.answers-answers
	switch a := cmd.Do.(type) {
	case *fold.EndChild:
		if answered != ended && a.Note != nil {
			rt.Fatalf("%d matches are over with a session, and %d answers said", ended, answered)
		}
		w.seen["consumed by session"] += ended
	case *fold.EndTrigger:
		if over := w.seen[parley.KindTriggerEnded] > unstarted; over != (answered == 1) && a.Note != nil {
			rt.Fatalf("the session of a match was not started: %t, and %d answers said", over, answered)
		}
	case *fold.Message:
		w.seen["consumed by turn"] += ended
	}
	w.seen["answered"] += answered
}

func (w *waker) see(e *fold.EncodedEvent) {
	if e.Event.Hops > 1 {
		w.seen["hops"]++
	}
	if e.Event.Type != parley.TypeSystem {
		return
	}
	sys, _ := e.Event.System()
	w.seen[sys.Kind]++
	if sys.Trigger == nil {
		return
	}
	for _, m := range sys.Trigger.Wakes {
		switch {
		case m.Stopped != "":
			w.seen[m.Stopped]++
		case m.SessionID == "":
			w.seen["woken by turn"]++
		default:
			w.seen["woken by session"]++
		}
	}
}

// floor checks that the agent of the first match has the floor between two turns unless an earlier rule applies, and
// that each participant with the floor has a time limit.
func (w *waker) floor(rt *rapid.T) {
	s := &w.state
	if s.Closed() {
		return
	}
	someoneMay := false
	for _, p := range s.Participants {
		g := s.Guidance(p.ID, true)
		checkReason(rt, g, true)
		may := g.Kind == parley.MaySpeak
		someoneMay = someoneMay || may
		cmd := fold.Command{Do: &fold.Message{Finality: turn, Payload: text("?")}, From: p.ID, Now: s.LastAt}
		if s.Claim != nil {
			cmd.Named = &s.Claim.Hash
		}
		if d := fold.Decide(*s, w.keys, cmd); (d.Err == nil) != may {
			rt.Fatalf("guidance of %s: may speak %t, but a message gets %v", p.ID, may, d.Err)
		}
	}
	f, asks := s.Floor(), s.Asks()
	if !someoneMay {
		rt.Fatalf("nobody may speak in %+v", s)
	}
	if s.Claim == nil && !f.Anyone && w.ledger.kind(f.Speaker).Claims() &&
		(len(asks) != 1 || asks[0].AgentID != f.Speaker || asks[0].TimeoutMs == 0) {
		rt.Fatalf("%s has the floor, and asked are %+v", f.Speaker, asks)
	}
	w.decided(rt, f)
}

// decided holds the floor against the log where the policy triggers has decided.
func (w *waker) decided(rt *rapid.T, f fold.Floor) {
	rules := w.state.Guidance("a", true).Rules
	rule := rules[len(rules)-1].Rule
	if rule == "participant" {
		rule = rules[len(rules)-2].Rule
	}
	policy := w.state.Policy.Kind
	if policy != parley.PolicyTriggers && rule == "triggers" || policy == parley.PolicyTriggers &&
		(rule == "round_robin" || rule == "open") {
		rt.Fatalf("the rule %s decides under the policy %s", rule, policy)
	}
	if rule != "triggers" {
		return
	}
	first := slices.IndexFunc(w.ledger.pending, func(m match) bool { return m.Session == "" })
	switch {
	case first >= 0 && (f.Anyone || f.Speaker != w.ledger.pending[first].AgentID):
		rt.Fatalf("%+v waits first, and the floor is %+v", w.ledger.pending[first], f)
	case first >= 0:
		w.seen["first woken"]++
	case f.Anyone:
		if len(w.state.Asks()) > 0 {
			rt.Fatal("somebody is asked whom nothing has woken")
		}
		w.seen["anyone"]++
	case w.ledger.kind(f.Speaker).Claims():
		rt.Fatalf("%s has the floor, and nothing has woken it", f.Speaker)
	default:
		w.seen["person"]++
	}
}
