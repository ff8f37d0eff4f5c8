package fold_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/fold/idempotency"
)

// claimer plays random commands about turns: every policy, every limit, claims, their ends, passes. It checks
// properties of every log. Other tests check which commands are accepted.
type claimer struct {
	state  fold.State
	keys   idempotency.Keys
	stored [][]byte
	now    parley.Timestamp
	ids    int
	known  []eventdata.ClaimHash

	ended  int64          // the last ended turn
	claim  string         // hash of the current claim
	shown  map[int64]bool // messages and traces of the open turn that are not withdrawn
	hidden map[int64]bool
	asked  questions
}

// TestClaims checks that the state of a decision equals a replay of its events, from the bytes and from a saved state,
// that no turn ends twice, and that guidance is right.
func TestClaims(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := &claimer{state: fold.State{ID: "cnv"}, keys: idempotency.Keys{}, now: 1_000_000, shown: map[int64]bool{},
			hidden: map[int64]bool{}, asked: questions{}}
		c.do(rt, c.drawCreate(rt))
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			c.now += parley.Timestamp(rapid.SampledFrom([]int64{0, 1, 60_000}).Draw(rt, "dt"))
			c.do(rt, c.draw(rt))
			c.guidance(rt)
		}
		c.replay(rt)
	})
}

func (c *claimer) drawCreate(rt *rapid.T) fold.Command {
	q := &parley.CreateConversationParams{}
	for _, id := range everybody[:rapid.IntRange(1, 4).Draw(rt, "n")] {
		kind := rapid.SampledFrom([]parley.ParticipantKind{parley.KindAgent, parley.KindAgent, parley.KindTool,
			parley.KindHuman, parley.KindPeer}).Draw(rt, "kind")
		q.Participants = append(q.Participants, parley.Participant{ID: id, Kind: kind})
	}
	someone := func(name string) string { return rapid.SampledFrom(q.Participants).Draw(rt, name).ID }
	p := parley.Policy{Kind: rapid.SampledFrom([]parley.PolicyKind{
		parley.PolicyRoundRobin, parley.PolicyOpen, parley.PolicyAddressed, parley.PolicyRules, parley.PolicyModerator,
		parley.PolicyTriggers,
	}).Draw(rt, "policy")}
	switch p.Kind {
	case parley.PolicyModerator:
		p.Moderator = someone("moderator")
	case parley.PolicyRules:
		p.Rules = []parley.Rule{{When: `last.from == "` + someone("when") + `"`, Next: someone("next")},
			{When: `turns % 3 == 1`, Next: someone("next")}}
	}
	q.Policy = &p
	if rapid.Bool().Draw(rt, "starts") {
		q.StartsWith = someone("startsWith")
	}
	q.Limits = &parley.Limits{
		MaxAttempts:   rapid.IntRange(1, 3).Draw(rt, "maxAttempts"),
		MaxTurns:      rapid.SampledFrom([]int64{0, 0, 9}).Draw(rt, "maxTurns"),
		TurnTimeoutMs: rapid.SampledFrom([]int64{0, 1000}).Draw(rt, "turnTimeout"),
		OnTurnTimeout: rapid.SampledFrom([]parley.TurnTimeout{
			"", parley.TurnReoffer, parley.TurnSkip, parley.TurnClose}).Draw(rt, "onTurnTimeout"),
		MaxAutonomousTurns: rapid.SampledFrom([]int64{0, 2, 4}).Draw(rt, "maxAutonomous"),
		StopWhen:           rapid.SampledFrom([]string{"", `counts["a"] > 5`}).Draw(rt, "stopWhen"),
	}
	return fold.Command{Do: &fold.Create{Params: q}, From: "maker"}
}

var turnActions = []fold.Action{
	&fold.Message{}, &fold.Message{}, &fold.Message{}, &fold.Message{}, &fold.Trace{}, &fold.Take{}, &fold.Take{},
	&fold.Renew{},
	&fold.Release{}, &fold.Cancel{}, &fold.EndClaim{}, &fold.Timeout{}, &fold.Timeout{}, &fold.Note{},
	&fold.RequestApproval{},
	&fold.RequestApproval{}, &fold.RequestApproval{}, &fold.ResolveApproval{}, &fold.ResolveApproval{}, &fold.Tick{},
}

// drawAction draws an action and returns an empty one of its type.
func drawAction(rt *rapid.T, all []fold.Action) fold.Action {
	i := rapid.IntRange(0, len(all)-1).Draw(rt, "action")
	return reflect.New(reflect.TypeOf(all[i]).Elem()).Interface().(fold.Action)
}

func (c *claimer) draw(rt *rapid.T) fold.Command {
	s := &c.state
	cmd := fold.Command{Do: drawAction(rt, turnActions), Key: rapid.SampledFrom(someKeys).Draw(rt, "key")}
	cmd.From = rapid.SampledFrom(everybody[:5]).Draw(rt, "from")
	if f := s.Floor(); f.Speaker != "" && rapid.IntRange(0, 4).Draw(rt, "any") > 0 {
		cmd.From = f.Speaker
	}
	c.ids++
	claim := fold.NewClaim{New: eventdata.HashClaim(eventdata.ClaimID(s.CurrentTurn(), strconv.Itoa(c.ids)))}
	cmd.Executor.ID = rapid.SampledFrom([]string{"", "x1", "x2"}).Draw(rt, "executor")
	offered := rapid.Bool().Draw(rt, "offered")
	claim.Others = rapid.IntRange(0, 3).Draw(rt, "others") == 0
	renewed := int64(0)
	if s.Claim != nil && rapid.IntRange(0, 4).Draw(rt, "names") > 0 {
		cmd.Named, renewed, cmd.Executor.ID = &s.Claim.Hash, s.Claim.RenewedSeq, s.Claim.ExecutorID
	} else if len(c.known) > 0 && rapid.IntRange(0, 2).Draw(rt, "names an old one") == 0 {
		cmd.Named = &c.known[rapid.IntRange(0, len(c.known)-1).Draw(rt, "which")]
	}
	switch a := cmd.Do.(type) {
	case *fold.Message:
		a.Turn, a.Payload, a.NewClaim = s.CurrentTurn(), text("x"), claim
		a.Finality = rapid.SampledFrom([]parley.Finality{none, none, turn, turn, turn}).Draw(rt, "finality")
		if rapid.IntRange(0, 2).Draw(rt, "addresses") == 0 {
			a.Payload = text("@" + rapid.SampledFrom(everybody[:4]).Draw(rt, "mention") + " what now")
		}
		if rapid.IntRange(0, 5).Draw(rt, "hints") == 0 {
			a.TurnHint = &parley.TurnHint{Next: rapid.SampledFrom(everybody[:4]).Draw(rt, "hint")}
		}
	case *fold.Trace:
		a.Turn, a.Payload, a.NewClaim = s.CurrentTurn(), json.RawMessage(`{"kind":"k"}`), claim
	case *fold.RequestApproval, *fold.ResolveApproval:
		c.drawApproval(rt, a)
	case *fold.Note:
		a.Note = &parley.Note{Schema: "s", Data: json.RawMessage(`1`)}
	case *fold.Renew:
		a.RenewedSeq = renewed
		cmd.HeldMs, a.LeftMs = rapid.Int64Range(0, 900_000).Draw(rt, "held"), rapid.Int64Range(0, 60_000).Draw(rt, "left")
	case *fold.Release:
		a.Reason = rapid.SampledFrom([]parley.ClaimEnd{
			parley.ClaimYielded, parley.ClaimDeclined, parley.ClaimSilent, parley.ClaimFailed,
		}).Draw(rt, "reason")
	case *fold.Cancel:
		a.Turn = s.CurrentTurn()
	case *fold.EndClaim:
		cmd.From, a.RenewedSeq = parley.HubID, renewed
		a.Reason = rapid.SampledFrom([]parley.ClaimEnd{
			parley.ClaimExpired, parley.ClaimDisconnected, parley.ClaimRestarted,
		}).Draw(rt, "reason")
		if cmd.Named == nil {
			cmd.Do = &fold.Tick{}
		}
	case *fold.Timeout:
		cmd.From, a.Asked = parley.HubID, rapid.Bool().Draw(rt, "asked")
		if asks := s.Asks(); len(asks) > 0 {
			ask := rapid.SampledFrom(asks).Draw(rt, "ask")
			a.AgentID, a.Since = ask.AgentID, ask.Since-rapid.SampledFrom([]int64{0, 0, 0, 1}).Draw(rt, "stale")
		}
	case *fold.Take:
		a.Turn, a.NewClaim, a.Offered = s.CurrentTurn(), claim, offered
		if cmd.Named == nil && rapid.Bool().Draw(rt, "by id") {
			cmd.Named = &a.New
		}
	}
	return cmd
}

func text(s string) json.RawMessage { return json.RawMessage(`{"text":"` + s + `"}`) }

// do decides a command and reads its events without the fold.
func (c *claimer) do(rt *rapid.T, cmd fold.Command) {
	cmd.Now = c.now
	before := c.state
	d := fold.Decide(c.state, c.keys, cmd)
	if errors.Is(d.Err, parley.ErrInternal) || d.Err != nil && !c.state.Closed() && len(d.Events) > 0 &&
		!onlyTimedOut(d.Events) {
		rt.Fatalf("%+v: %v with %d events", cmd, d.Err, len(d.Events))
	}
	if !reflect.DeepEqual(before, c.state) {
		rt.Fatal("Decide changed the state that it was given")
	}
	for i := range d.Events {
		e := &d.Events[i]
		c.read(rt, &e.Event)
		if e.Claim != nil && e.Claim.String() != c.claim && c.claim != "" {
			rt.Fatalf("%s was said under another claim", e.Data)
		}
		c.stored = append(c.stored, e.Data)
		enter(&c.keys, e)
	}
	c.state = d.State
	c.asked.compare(rt, &c.state)
	if d.Claimed {
		c.known = append(c.known, cmd.NewClaim().New)
	}
	if c.state.Claim != nil && c.state.Claim.Hash.String() != c.claim || c.state.Claim == nil && c.claim != "" {
		rt.Fatalf("the claim is %+v, by the log %q", c.state.Claim, c.claim)
	}
	for seq := range c.shown {
		if c.state.IsWithdrawn(seq) {
			rt.Fatalf("seq %d is withdrawn, not by the log", seq)
		}
	}
	for seq := range c.hidden {
		if !c.state.IsWithdrawn(seq) {
			rt.Fatalf("seq %d is withdrawn by the log", seq)
		}
	}
}

func (c *claimer) read(rt *rapid.T, e *parley.Event) {
	c.asked.read(rt, e)
	if e.Type != parley.TypeSystem {
		if e.Turn <= c.ended {
			rt.Fatalf("seq %d in turn %d, which has ended", e.Seq, e.Turn)
		}
		c.shown[e.Seq] = true
		if e.Finality.Final() {
			c.end(e.Turn)
		}
		return
	}
	sys, err := e.System()
	if err != nil {
		rt.Fatal(err)
	}
	switch sys.Kind {
	case parley.KindTurnClaimed:
		if c.claim != "" {
			rt.Fatal("two claims")
		}
		c.claim = sys.ClaimHash
	case parley.KindClaimRenewed:
		if c.claim != sys.ClaimHash {
			rt.Fatal("a renewal of another claim")
		}
	case parley.KindClaimEnded:
		if c.claim != sys.ClaimHash {
			rt.Fatal("the end of another claim")
		}
		c.claim = ""
		for seq := range c.shown {
			if sys.ResetFrom != 0 && seq >= sys.ResetFrom {
				delete(c.shown, seq)
				c.hidden[seq] = true
			}
		}
	case parley.KindTurnEnded:
		if sys.Turn != c.ended+1 {
			rt.Fatalf("turn %d ends after turn %d", sys.Turn, c.ended)
		}
		c.end(sys.Turn)
	}
}

func (c *claimer) end(turn int64) {
	c.ended, c.claim = turn, ""
	clear(c.shown)
}

// guidance compares the guidance with the result of a final message.
func (c *claimer) guidance(rt *rapid.T) {
	s := &c.state
	if s.Guidance("a", false).Kind == parley.Closed {
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
		if d := fold.Decide(*s, c.keys, cmd); (d.Err == nil) != may || may != s.MaySpeak(p.ID) {
			rt.Fatalf("guidance of %s: may speak %t, but a message gets %v", p.ID, may, d.Err)
		}
	}
	if waits := s.Claim == nil && c.asked.pending() > 0; someoneMay == waits || waits && s.NextDeadline() == 0 {
		rt.Fatalf("somebody may speak: %t, and waits for an approval: %t, in %+v", someoneMay, waits, s)
	}
	for _, a := range s.Asks() {
		if !s.MaySpeak(a.AgentID) || a.Since < 1 || a.Since > s.Seq || a.Turn != s.CurrentTurn() || s.Claim != nil {
			rt.Fatalf("asked %+v in %+v", a, s)
		}
	}
}

func (c *claimer) replay(rt *rapid.T) {
	again := replayed(rt, c.stored, c.state)
	for _, p := range everybody {
		if diff := cmp.Diff(c.state.Guidance(p, true), again.Guidance(p, true)); diff != "" {
			rt.Fatalf("guidance of %s differs:\n%s", p, diff)
		}
	}
}

// replayed compares the state with a replay of the stored bytes, as a whole and from a saved state.
func replayed(rt *rapid.T, stored [][]byte, state fold.State) fold.State {
	again := fold.State{ID: "cnv"}
	kept := rapid.IntRange(0, len(stored)).Draw(rt, "kept")
	for i, b := range stored {
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
	}
	if diff := cmp.Diff(state, again); diff != "" {
		rt.Fatalf("replayed state differs:\n%s", diff)
	}
	return again
}
