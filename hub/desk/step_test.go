package desk

import (
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
)

// TestDeadline: a claim ends when it was watched for its duration, from when its event was seen. A
// renewal restarts that.
func TestDeadline(t *testing.T) {
	b := newTable(t, parley.Limits{TurnTimeoutMs: 10_000}, "x")
	b.wantAsked(start, "x")
	b.now = start + 500
	h := b.take("x")
	b.desk.Found(h)
	b.nothing(start+10_499, start+10_500)
	if held, left := b.desk.Watched(b.now, h); held != 9999 || left != 1 {
		t.Fatalf("held for %d ms, %d left", held, left)
	}
	b.do(fold.Command{Do: &fold.Renew{LeftMs: 1}, From: "a", Named: &h, Executor: fold.Executor{ID: "x"}, HeldMs: 9999})
	b.nothing(start+20_498, start+20_499)
	c := b.command(start + 20_499)
	if end, ok := c.Do.(*fold.EndClaim); !ok || *c.Named != h || end.Reason != parley.ClaimExpired ||
		end.RenewedSeq != b.state.Seq {
		t.Fatalf("%+v", c)
	}
	if held, _ := b.desk.Watched(b.now, eventdata.ClaimHash{}); held != 0 {
		t.Fatal("another claim is watched")
	}
}

// TestGrace: a claim that no connection holds is ended after its grace, unless a connection is back before.
func TestGrace(t *testing.T) {
	b := newTable(t, parley.Limits{TurnTimeoutMs: 60_000}, "x")
	b.wantAsked(start, "x")
	h := b.take("x")
	b.now = start + 1000
	b.desk.Lost(b.now, h)
	b.nothing(start+5999, start+6000)
	b.desk.Found(h)
	b.nothing(start+6000, start+60_000)
	b.desk.Lost(b.now, h)
	b.desk.Lost(b.now+3000, h) // it is lost since it was lost first
	b.nothing(start+10_999, start+11_000)
	if end, ok := b.command(start + 11_000).Do.(*fold.EndClaim); !ok || end.Reason != parley.ClaimDisconnected {
		t.Fatalf("%+v", end)
	}
}

// TestNoGrace: a claim that was taken without a connection has its deadline alone.
func TestNoGrace(t *testing.T) {
	b := newTable(t, parley.Limits{TurnTimeoutMs: 60_000})
	h := eventdata.HashClaim("clm_1_x")
	b.do(fold.Command{Do: &fold.Take{Turn: 1, NewClaim: fold.NewClaim{New: h}}, From: "a"})
	b.desk.Lost(b.now, h)
	b.nothing(start+59_999, start+60_000)
}

// TestTold: a command is not returned again until the state changes, or Again is called.
func TestTold(t *testing.T) {
	b := newTable(t, parley.Limits{TurnTimeoutMs: 10_000}, "x")
	b.wantAsked(start, "x")
	b.take("x")
	b.command(start + 10_000)
	b.nothing(start+10_001, 0)
	b.desk.Again()
	b.command(start + 10_002)
	b.end(parley.ClaimExpired)
	b.wantAsked(start+10_300, "x")
	b.executors = nil
	b.command(start + 20_002)
	b.nothing(start+20_003, 0)
	b.desk.Again()
	if late, ok := b.command(start + 20_004).Do.(*fold.Timeout); !ok || !late.Asked {
		t.Fatalf("%+v", late)
	}
}

// TestLater: a step that may only ask leaves the rest to one that is to be made at once.
func TestLater(t *testing.T) {
	b := newTable(t, parley.Limits{TurnTimeoutMs: 10_000}, "x")
	b.wantAsked(start, "x")
	h := b.take("x")
	b.desk.Lost(b.now, h)
	for _, at := range []Time{start + 1, start + 5000, start + 20_000} {
		b.now = at
		if todo := b.step(true); len(todo.Commands) > 0 || todo.At != start+5000 {
			t.Fatalf("at %d: %+v", at, todo)
		}
	}
	b.end(parley.ClaimDisconnected)
	b.executors = nil
	b.now += 50_000
	if todo := b.step(true); len(todo.Commands) > 0 || todo.At != start+30_000 {
		t.Fatalf("%+v", todo)
	}
	b.command(b.now)
}

// TestShared: beside other hubs the end of a grace makes the claim short; the hub that has the holder keeps it, once, with what it has left.
func TestShared(t *testing.T) {
	b := newTable(t, parley.Limits{TurnTimeoutMs: 60_000}, "x")
	b.shared = true
	b.wantAsked(start, "x")
	h := b.take("x")
	other := &table{t: t, state: b.state, now: start, shared: true, claims: map[string]string{}}
	other.desk.Saw(start, &other.state)
	other.desk.Found(h)

	b.desk.Lost(start, h)
	short := b.command(start + 5000)
	shorten, ok := short.Do.(*fold.Renew)
	if !ok || short.From != parley.HubID || shorten.ShortenMs == 0 || shorten.LeftMs < 55_000 {
		t.Fatalf("%+v", short)
	}
	b.do(short)
	if c, _ := b.desk.Claim(); c.DurationMs != shorten.ShortenMs {
		t.Fatalf("the claim stands for %d ms", c.DurationMs)
	}
	if todo := b.step(false); len(todo.Commands) > 0 || todo.At < b.now+Time(shorten.ShortenMs) {
		t.Fatalf("the hub that has lost it: %+v", todo)
	}

	other.state, other.now = b.state, b.now+100
	other.desk.Saw(other.now, &other.state)
	if todo := other.step(true); len(todo.Commands) > 0 || todo.At != other.now {
		t.Fatalf("the hub that has it: %+v", todo)
	}
	long := other.command(other.now)
	if renew, ok := long.Do.(*fold.Renew); !ok || renew.ShortenMs != 0 || long.HeldMs != 5100 {
		t.Fatalf("%+v", long)
	}
	if todo := other.step(false); len(todo.Commands) > 0 {
		t.Fatalf("twice: %+v", todo)
	}
	other.do(long)
	if c, _ := other.desk.Claim(); c.DurationMs != 60_000 {
		t.Fatalf("the claim stands for %d ms", c.DurationMs)
	}
	b.state, b.now = other.state, other.now
	b.desk.Saw(b.now, &b.state)
	if todo := b.step(false); len(todo.Commands) > 0 || todo.At < b.now+60_000 {
		t.Fatalf("the hub that has lost it makes it short again: %+v", todo)
	}
}

// TestOlderState: a state from before one that was seen changes nothing.
func TestOlderState(t *testing.T) {
	b := newTable(t, parley.Limits{}, "x")
	older := b.state
	b.wantAsked(start, "x")
	b.take("x")
	b.desk.Saw(start, &older)
	if _, ok := b.desk.Claim(); !ok || len(b.desk.Served()) > 0 {
		t.Fatal("the claim is forgotten")
	}
}

// TestPeople: the time of a person's turn runs only where it was given.
func TestPeople(t *testing.T) {
	for _, limit := range []int64{0, 7000} {
		b := newTable(t, parley.Limits{TurnTimeoutMs: limit, OnTurnTimeout: parley.TurnSkip})
		b.final("a")
		if limit == 0 {
			b.nothing(start, 0)
			if !b.desk.Idle() {
				t.Fatal("there is nothing to do")
			}
			continue
		}
		b.nothing(start+6999, start+7000)
		b.do(b.command(start + 7000))
		if f := b.state.Floor(); f.Speaker != "a" || b.state.LastOwner != "h" {
			t.Fatalf("%+v", f)
		}
	}
}

// TestOthers: whether an executor is there that has not had the turn.
func TestOthers(t *testing.T) {
	b := newTable(t, parley.Limits{}, "x", "y")
	b.wantAsked(start, "x")
	b.take("x")
	b.end(parley.ClaimDeclined)
	for _, c := range []struct {
		there []Executor
		want  bool
	}{{nil, false}, {b.executors[:1], false}, {b.executors, true}} {
		if got := b.desk.Others("a", c.there); got != c.want {
			t.Errorf("of %+v: %t", c.there, got)
		}
	}
	if b.desk.Others("h", b.executors) {
		t.Error("nobody runs a person")
	}
}
