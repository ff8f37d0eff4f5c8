package fold_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/idempotency"
)

// machine plays random commands on the fold and on the model.
type machine struct {
	model  model
	state  fold.State
	keys   idempotency.Keys
	stored [][]byte
	sent   []fold.Command
	now    parley.Timestamp
}

var (
	everybody = []string{"a", "b", "c", "d", "maker", "stranger"}
	payloads  = []string{`{"text":"x"}`, `{"text":"<&>\u2028é"}`, `{"data":{"n":1},"tags":["t"]}`}
	someKeys  = []string{"", "", "", "k1", "k2", "schlüssel \"3\""}
	someRoles = []string{"", "r"}
	someFiles = []string{fileA, fileB, fileC, strings.Replace(fileA, "0", "1", 1), strings.Replace(fileB, "5", "6", 1),
		strings.Replace(fileC, "f", "e", 1)}
)

// The hashes of some files.
const (
	fileA = "0ab1000000000000000000000000000000000000000000000000000000000001"
	fileB = "5ab1000000000000000000000000000000000000000000000000000000000002"
	fileC = "fab1000000000000000000000000000000000000000000000000000000000003"
)

func TestModel(t *testing.T) {
	for i := range 4 { // each has as many checks as -rapid.checks says
		t.Run(strconv.Itoa(i), testModel)
	}
}

func testModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &machine{state: fold.State{ID: "cnv"}, keys: idempotency.Keys{}, now: 1_000_000}
		m.step(rt, m.drawCreate(rt))
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			m.now += parley.Timestamp(rapid.SampledFrom([]int64{0, 0, 1, 7, 40, 99, -5}).Draw(rt, "dt"))
			m.step(rt, m.draw(rt))
			m.guidance(rt)
		}
		m.replay(rt)
	})
}

// step plays one command on both and compares everything.
func (m *machine) step(rt *rapid.T, c fold.Command) {
	before := m.state
	if _, creates := c.Do.(*fold.Create); c.Key != "" && !creates {
		m.sent = append(m.sent, c)
	}
	d := fold.Decide(m.state, m.keys, c)
	want := m.model.do(c)
	if (want.err == nil) != (d.Err == nil) || !errors.Is(d.Err, want.err) {
		rt.Fatalf("%+v: error %v, want %v", c, d.Err, want.err)
	}
	if d.Err == nil && (d.Seq != want.seq || d.Turn != want.turn || d.Duplicate != want.duplicate) {
		rt.Fatalf("%+v: seq %d turn %d duplicate %t, want %+v", c, d.Seq, d.Turn, d.Duplicate, want)
	}
	if len(d.Events) != len(want.add) {
		rt.Fatalf("%+v: %d events, want %+v", c, len(d.Events), want.add)
	}
	if d.Err == nil && d.Seq > d.State.Seq {
		rt.Fatalf("%+v: seq %d is after the state at %d", c, d.Seq, d.State.Seq)
	}
	if !reflect.DeepEqual(before, m.state) {
		rt.Fatalf("Decide changed the state that it was given")
	}
	for i := range d.Events {
		m.take(rt, &d.Events[i], want.add[i])
	}
	if diff := cmp.Diff(d.State, m.state); diff != "" {
		rt.Fatalf("the state of the decision is not that of its events:\n%s", diff)
	}
	m.compareState(rt)
}

// take applies an event of a decision, and compares it with the event of the model.
func (m *machine) take(rt *rapid.T, got *fold.EncodedEvent, want fact) {
	canonical, err := got.Event.Encode()
	if err != nil || string(canonical) != string(got.Data) {
		rt.Fatalf("encoding %s, Event.Encode gives %s, %v", got.Data, canonical, err)
	}
	var e parley.Event
	if err := json.Unmarshal(got.Data, &e); err != nil {
		rt.Fatal(err)
	}
	if e.Seq != want.seq || e.Turn != want.turn || e.Type != want.typ || e.From != want.from || int64(e.At) != want.at ||
		e.Finality != want.finality || e.ClientRequestID != want.key || !reflect.DeepEqual(e.Outcome, want.outcome) {
		rt.Fatalf("event %s, want %+v", got.Data, want)
	}
	if want.payload != "" && string(e.Payload) != want.payload {
		rt.Fatalf("payload %s, want %s", e.Payload, want.payload)
	}
	if e.Type == parley.TypeSystem {
		sys, err := e.System()
		if err != nil || sys.Kind != want.kind || (sys.Kind == parley.KindParticipantPrivate && sys.Text != want.private) ||
			sys.AddedBy != want.added {
			rt.Fatalf("system event %s, %v, want %+v", e.Payload, err, want)
		}
		if strings.Contains(string(e.Payload), "secret") && sys.Kind != parley.KindParticipantPrivate {
			rt.Fatalf("a private text in %s", e.Payload)
		}
	}
	if e.From == parley.HubID && e.Type == parley.TypeMessage {
		if msg, err := e.Message(); err != nil || msg.Text == "" {
			rt.Fatalf("the hub's message says nothing: %s, %v", e.Payload, err)
		}
	}
	next, err := m.state.Apply(&e, len(got.Data))
	if err != nil {
		rt.Fatalf("Apply refuses what Decide gave: %v", err)
	}
	enter(&m.keys, got)
	m.state = next
	m.stored = append(m.stored, got.Data)
}

// enter notes the keys of an event.
func enter(keys *idempotency.Keys, e *fold.EncodedEvent) {
	ids, entry := idempotency.KeysOf(&e.Event, e.Claim)
	for _, id := range ids {
		keys.Put(id, entry)
	}
}

func (m *machine) compareState(rt *rapid.T) {
	s, w := &m.state, &m.model
	turns, events, bytes := w.counts()
	status := parley.StatusActive
	var outcome *parley.Outcome
	if w.closed() {
		status = parley.StatusClosed
		if outcome = w.log[len(w.log)-1].outcome; outcome == nil {
			outcome = &parley.Outcome{Status: parley.OutcomeCompleted}
		}
	}
	_, owner, open := w.open()
	due, reason := w.due()
	gotDue, gotReason := s.Due()
	type visible struct {
		Seq, Turn, Turns, Events, Bytes, Due                  int64
		Status                                                parley.Status
		Open                                                  bool
		Owner, Reason, Title, CreatedBy, StartsWith, Metadata string
		Seats                                                 []parley.Participant
		Limits                                                parley.Limits
		Outcome                                               *parley.Outcome
		Children                                              []fold.Child
		Callbacks                                             []fold.EndedChild
		CreatedAt, LastAt                                     int64
	}
	got := visible{
		s.Seq, s.CurrentTurn(), s.Turns, s.Events, s.Bytes, int64(gotDue), s.Status, s.Open, s.Owner, gotReason, s.Title,
		s.CreatedBy,
		s.StartsWith, string(s.Metadata), s.Participants, s.Limits, s.Outcome, s.Children, s.Callbacks, int64(s.CreatedAt),
		int64(s.LastAt),
	}
	want := visible{
		int64(len(w.log)), w.turn(), turns, events, bytes, due, status, open, owner, reason, w.params.Title, "maker",
		w.params.StartsWith, string(w.params.Metadata), w.seats(), w.limits(), outcome, w.runs(), w.untold(), w.log[0].at,
		w.log[len(w.log)-1].at,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		rt.Fatalf("state (-model +fold):\n%s", diff)
	}
}

// guidance holds everybody's guidance against the model's, and against what Decide would do.
func (m *machine) guidance(rt *rapid.T) {
	for _, id := range everybody {
		for _, explain := range []bool{false, true} {
			g := m.state.Guidance(id, explain)
			checkReason(rt, g, explain)
			g.Reason, g.Rules = "", nil
			if diff := cmp.Diff(m.model.guidance(id), g); diff != "" {
				rt.Fatalf("guidance of %s (-model +fold):\n%s", id, diff)
			}
		}
		may := m.state.Guidance(id, false).Kind == parley.MaySpeak
		if may != m.state.MaySpeak(id) {
			rt.Fatalf("MaySpeak(%s) is %t", id, !may)
		}
		plain := fold.Command{From: id, Now: m.state.LastAt,
			Do: &fold.Message{Finality: parley.FinalityTurn, Payload: json.RawMessage(`{"text":"?"}`)}}
		if due, _ := m.state.Due(); due > 0 && due <= m.state.LastAt {
			continue // overdue: the clock's next tick closes it
		}
		if d := fold.Decide(m.state, m.keys, plain); (d.Err == nil) != may {
			rt.Fatalf("guidance of %s: may speak %t, but a message gets %v", id, may, d.Err)
		}
	}
}

func checkReason(rt *rapid.T, g parley.Guidance, explain bool) {
	if !strings.HasSuffix(g.Reason, ".") || strings.Count(g.Reason, ".") != 1 {
		rt.Fatalf("reason %q is not one sentence", g.Reason)
	}
	if !explain {
		if g.Rules != nil {
			rt.Fatalf("rules without being asked: %+v", g.Rules)
		}
		return
	}
	for i, r := range g.Rules {
		if r.Decided != (i == len(g.Rules)-1) || r.Rule == "" || r.Because == "" {
			rt.Fatalf("rules %+v", g.Rules)
		}
	}
	if len(g.Rules) == 0 {
		rt.Fatal("no rules")
	}
}

// replay compares the state, the keys and the guidance with a replay of the stored bytes, as a whole and from a saved
// state.
func (m *machine) replay(rt *rapid.T) {
	again, keys := fold.State{ID: "cnv"}, idempotency.Keys{}
	kept := rapid.IntRange(0, len(m.stored)).Draw(rt, "kept")
	for i, b := range m.stored {
		if i == kept {
			again = throughGob(rt, again)
		}
		var e parley.Event
		if err := json.Unmarshal(b, &e); err != nil {
			rt.Fatal(err)
		}
		next, err := again.Apply(&e, len(b))
		if err != nil {
			rt.Fatalf("replay: %v", err)
		}
		again = next
		enter(&keys, &fold.EncodedEvent{Event: e})
	}
	if diff := cmp.Diff(m.state, again); diff != "" {
		rt.Fatalf("replayed state differs:\n%s", diff)
	}
	if diff := cmp.Diff(maps.Collect(m.keys.All()), maps.Collect(keys.All())); diff != "" {
		rt.Fatalf("replayed keys differ:\n%s", diff)
	}
}

func throughGob(rt *rapid.T, s fold.State) fold.State {
	var buf bytes.Buffer
	var out fold.State
	if err := gob.NewEncoder(&buf).Encode(s); err != nil {
		rt.Fatal(err)
	}
	if err := gob.NewDecoder(&buf).Decode(&out); err != nil {
		rt.Fatal(err)
	}
	return out
}
