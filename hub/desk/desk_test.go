package desk

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/fold/idempotency"
)

// table is a desk with the conversation that it sees, and a clock that is set by hand.
type table struct {
	t         *testing.T
	desk      Desk
	state     fold.State
	now       Time
	executors []Executor
	shared    bool
	minted    int
	claims    map[string]string // claim ids by executor, as they were asked
}

// newTable begins a conversation of agent a and human h.
func newTable(t *testing.T, l parley.Limits, executors ...string) *table {
	b := &table{t: t, state: fold.State{ID: "cnv"}, now: 1_000_000, claims: map[string]string{}}
	for _, id := range executors {
		b.executors = append(b.executors, Executor{Key: "key " + id, ID: id})
	}
	b.do(fold.Command{
		Do: &fold.Create{Params: &parley.CreateConversationParams{
			Participants: []parley.Participant{{ID: "a", Kind: parley.KindAgent}, {ID: "h", Kind: parley.KindHuman}}, Limits: &l,
		}},
		From: "maker",
	})
	return b
}

func (b *table) do(c fold.Command) *fold.Decision {
	b.t.Helper()
	d := fold.Decide(b.state, idempotency.Keys{}, c)
	if d.Err != nil {
		b.t.Fatalf("%+v: %v", c, d.Err)
	}
	b.state = d.State
	b.desk.Saw(b.now, &b.state)
	return &d
}

func (b *table) step(later bool) Todo {
	todo := b.desk.Step(World{
		Now: b.now, Later: later, Shared: b.shared,
		Executors: func(a *fold.Ask) []Executor {
			agent := a.Agent
			if agent != "a" {
				b.t.Fatalf("executors of %q", agent)
			}
			return b.executors
		},
		Mint: func(turn int64) (string, eventdata.ClaimHash) {
			b.minted++
			id := eventdata.ClaimID(turn, fmt.Sprint(b.minted))
			return id, eventdata.HashClaim(id)
		},
	})
	for _, r := range todo.Requests {
		b.claims[r.Executor] = r.ClaimID
	}
	return todo
}

// asked steps at a time, expects no commands, and returns the executors that were asked.
func (b *table) asked(at Time) []string {
	b.t.Helper()
	b.now = at
	todo := b.step(false)
	if len(todo.Commands) > 0 {
		b.t.Fatalf("at %d: %+v", at, todo.Commands)
	}
	var names []string
	for _, r := range todo.Requests {
		names = append(names, r.Executor)
	}
	return names
}

func (b *table) wantAsked(at Time, want ...string) {
	b.t.Helper()
	for i := range want {
		want[i] = "key " + want[i]
	}
	if got := b.asked(at); !slices.Equal(got, want) {
		b.t.Fatalf("at %d asked %q, want %q", at, got, want)
	}
}

// command steps at a time and wants one command.
func (b *table) command(at Time) fold.Command {
	b.t.Helper()
	b.now = at
	todo := b.step(false)
	if len(todo.Commands) != 1 || len(todo.Requests) > 0 {
		b.t.Fatalf("at %d: %+v", at, todo)
	}
	return todo.Commands[0]
}

// nothing wants no command before a time, and that a step is planned for it.
func (b *table) nothing(at, planned Time) {
	b.t.Helper()
	b.now = at
	if todo := b.step(false); len(todo.Commands)+len(todo.Requests) > 0 || todo.At != planned {
		b.t.Fatalf("at %d: %+v, want a step at %d", at, todo, planned)
	}
}

// take lets an executor take the turn that it was asked to take.
func (b *table) take(id string) eventdata.ClaimHash {
	b.t.Helper()
	h := eventdata.HashClaim(b.claims["key "+id])
	o, ok := b.desk.Offered(h)
	if !ok || o.Executor != "key "+id {
		b.t.Fatalf("the offer to %s is %+v, %t", id, o, ok)
	}
	b.do(fold.Command{From: "a", Named: &h, Executor: fold.Executor{ID: id},
		Do: &fold.Take{Turn: o.Turn, Offered: true, NewClaim: fold.NewClaim{New: h, GraceMs: 5000}}})
	return h
}

// end ends the current claim.
func (b *table) end(reason parley.ClaimEnd) {
	b.t.Helper()
	c, ok := b.desk.Claim()
	if !ok {
		b.t.Fatal("no claim is watched")
	}
	b.do(fold.Command{Do: &fold.EndClaim{Reason: reason}, From: parley.HubID, Named: &c.Hash})
}

func (b *table) final(from string) {
	b.t.Helper()
	c := fold.Command{From: from,
		Do: &fold.Message{Finality: parley.FinalityTurn, Payload: json.RawMessage(`{"text":"x"}`)}}
	if b.state.Claim != nil {
		c.Named = &b.state.Claim.Hash
	}
	b.do(c)
}

const start Time = 1_000_000

// TestWindow: one is asked at once, the next when a window has passed, and all again in windows that double, up to 16 times as long.
func TestWindow(t *testing.T) {
	b := newTable(t, parley.Limits{TurnTimeoutMs: 3600_000}, "x", "y")
	b.wantAsked(start, "x")
	b.nothing(start+1, start+2000)
	b.nothing(start+1999, start+2000)
	b.wantAsked(start+2000, "y")
	at := start + 4000
	for _, window := range []Time{4000, 8000, 16_000, 32_000, 32_000, 32_000} {
		b.wantAsked(at, "x")
		b.nothing(at+window-1, at+window)
		b.wantAsked(at+window, "y")
		at += 2 * window
	}
}

// TestLateOffer: a window takes nothing back, until the turn is over.
func TestLateOffer(t *testing.T) {
	b := newTable(t, parley.Limits{}, "x", "y")
	b.wantAsked(start, "x")
	b.wantAsked(start+2000, "y")
	first := b.take("x")
	b.final("a")
	b.final("h")
	if o, ok := b.desk.Offered(first); ok {
		t.Fatalf("an offer of turn 1 in turn 3: %+v", o)
	}
}

// TestFewestLost: an executor that lost a claim of the turn is asked after all that lost none, also
// if it ran the agent last.
func TestFewestLost(t *testing.T) {
	b := newTable(t, parley.Limits{}, "x", "y", "z")
	b.wantAsked(start, "x")
	b.take("x")
	b.end(parley.ClaimExpired)
	b.wantAsked(start+250, "y")
	b.take("y")
	b.end(parley.ClaimDeclined)
	b.wantAsked(b.now+500, "z")
	b.wantAsked(b.now+2000, "y") // it had the agent last; x has lost as many
	b.wantAsked(b.now+2000, "x")
}

// TestAffinity: the executor that the agent had last is asked first, then the one with the least to do.
func TestAffinity(t *testing.T) {
	b := newTable(t, parley.Limits{}, "x", "y", "z")
	b.executors[0].Load, b.executors[1].Load, b.executors[2].Load = 3, 2, 1
	b.wantAsked(start, "z")
	b.wantAsked(start+2000, "y")
	b.take("y")
	b.final("a")
	b.final("h")
	b.executors[1].Load = 9
	b.wantAsked(b.now, "y")
	b.wantAsked(b.now+2000, "z")
}

// TestCapacity: a full executor is not asked. The next step follows when it has room.
func TestCapacity(t *testing.T) {
	b := newTable(t, parley.Limits{TurnTimeoutMs: 60_000}, "x")
	b.executors[0].Full = true
	b.nothing(start, start+60_000)
	if !b.desk.Waits("a", false) || b.desk.Waits("h", false) || b.desk.Asked("a") {
		t.Fatal("the desk waits for an executor of a")
	}
	b.executors[0].Full = false
	b.wantAsked(start+10, "x")
	if !b.desk.Asked("a") {
		t.Fatal("a was asked")
	}
}

// TestPlace: an agent that runs inside is not asked of an executor outside, and the other way round.
func TestPlace(t *testing.T) {
	for _, c := range []struct {
		place parley.ExecutorPlace
		want  []string
	}{{parley.ExecutorAny, []string{"x", "y"}}, {parley.ExecutorInternal, []string{"y", "y"}},
		{parley.ExecutorExternal, []string{"x", "x"}}} {
		b := newTable(t, parley.Limits{}, "x", "y")
		b.executors[1].Internal = true
		b.state.Participants[0].Executor = c.place
		b.desk = Desk{}
		b.desk.Saw(b.now, &b.state)
		b.wantAsked(start, c.want[0])
		b.wantAsked(start+2000, c.want[1])
	}
}

// TestBackoff: after a failed attempt there is a pause of 250 ms, doubled up to 5 s and randomly
// shorter by up to a half; not after a yield or a restart.
func TestBackoff(t *testing.T) {
	b := newTable(t, parley.Limits{MaxAttempts: 20}, "x")
	b.wantAsked(start, "x")
	for _, most := range []Time{250, 500, 1000, 2000, 4000, 5000, 5000, 5000} {
		b.take("x")
		b.end(parley.ClaimFailed)
		began := b.now
		todo := b.step(true)
		if pause := todo.At - began; len(todo.Requests) > 0 || pause < most/2 || pause > most {
			t.Fatalf("%+v: a pause of %d ms, want %d to %d", todo, pause, most/2, most)
		}
		b.wantAsked(todo.At, "x")
	}
	b = newTable(t, parley.Limits{}, "x")
	b.wantAsked(start, "x")
	b.take("x")
	b.end(parley.ClaimRestarted)
	b.wantAsked(start, "x")
}

// TestAttempts: after the last attempt no executor is asked, and the time of the turn runs.
func TestAttempts(t *testing.T) {
	b := newTable(t, parley.Limits{MaxAttempts: 1, TurnTimeoutMs: 10_000}, "x")
	b.wantAsked(start, "x")
	b.take("x")
	b.end(parley.ClaimExpired)
	b.nothing(start+1, start+10_000)
	c := b.command(start + 10_000)
	if late, ok := c.Do.(*fold.Timeout); !ok || late.AgentID != "a" || late.Since != b.state.Seq {
		t.Fatalf("%+v", c)
	}
	b.do(c)
	b.wantAsked(start+10_000, "x")
	b.nothing(start+10_001, start+12_000)
}
