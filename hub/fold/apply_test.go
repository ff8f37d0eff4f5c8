package fold_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/fold/idempotency"
)

// FuzzApply: no bytes make Apply, or what is asked of the state after it, panic.
func FuzzApply(f *testing.F) {
	f.Add([]byte(`{"seq":1,"type":"system","from":"hub","at":"2000-01-01T00:00:00.000Z","payload":{"kind":"conversation_created","createdBy":"a","participants":[{"id":"a","kind":"agent"}],"policy":{"kind":"open"},"limits":{"maxTurns":1,"idleTimeoutMs":5}}}
{"seq":2,"turn":1,"type":"message","from":"a","at":"2000-01-01T00:00:00.000Z","finality":"turn","payload":{"text":"x"},"clientRequestId":"k"}
{"seq":3,"turn":2,"type":"message","from":"hub","at":"2000-01-01T00:00:00.000Z","finality":"conversation","payload":{"text":"x"}}`))
	f.Add([]byte(`{"seq":1,"type":"system","payload":{"kind":"conversation_created"}}
{"seq":2,"type":"system","payload":{"kind":"participant_added","participant":{}}}
{"seq":3,"turn":1,"type":"trace"}
{"seq":4,"turn":1,"type":"message","finality":"conversation"}`))
	f.Add([]byte(`{"seq":1,"type":"system","from":"hub","at":"2000-01-01T00:00:00.000Z","payload":{"kind":"conversation_created","createdBy":"a","participants":[{"id":"a","kind":"agent"},{"id":"b","kind":"human"}],"policy":{"kind":"moderator","moderator":"b"},"limits":{"maxAttempts":1,"onTurnTimeout":"skip"}}}
{"seq":2,"type":"system","from":"hub","at":"2000-01-01T00:00:00.000Z","payload":{"kind":"turn_claimed","turn":1,"agentId":"a","executorId":"x","attempt":1,"claimHash":"0000000000000000000000000000000000000000000000000000000000000000","durationMs":5,"graceMs":1}}
{"seq":2,"type":"system","from":"hub","at":"2000-01-01T00:00:00.000Z","payload":{"kind":"turn_claimed","turn":1,"agentId":"b","attempt":1,"claimHash":"0000000000000000000000000000000000000000000000000000000000000000","durationMs":5}}
{"seq":3,"turn":1,"type":"message","from":"b","at":"2000-01-01T00:00:00.000Z","finality":"none","payload":{"text":"x"}}
{"seq":4,"type":"system","from":"hub","at":"2000-01-01T00:00:00.000Z","payload":{"kind":"claim_renewed","turn":1,"claimHash":"0000000000000000000000000000000000000000000000000000000000000000","durationMs":5}}
{"seq":5,"type":"system","from":"hub","at":"2000-01-01T00:00:00.000Z","payload":{"kind":"claim_ended","turn":1,"claimHash":"0000000000000000000000000000000000000000000000000000000000000000","reason":"expired","resetFrom":3}}
{"seq":6,"type":"system","from":"hub","at":"2000-01-01T00:00:00.000Z","payload":{"kind":"turn_reoffered","turn":1,"agentId":"b"}}
{"seq":7,"type":"system","from":"hub","at":"2000-01-01T00:00:00.000Z","payload":{"kind":"turn_ended","turn":1,"agentId":"b","reason":"skipped"}}`))
	f.Fuzz(func(t *testing.T, log []byte) {
		state, keys := fold.State{ID: "x"}, idempotency.Keys{}
		for line := range strings.Lines(string(log)) {
			var e parley.Event
			if json.Unmarshal([]byte(line), &e) != nil {
				continue
			}
			eventdata.MetaOf(&e)
			next, err := state.Apply(&e, len(line))
			if err != nil {
				continue
			}
			state = next
			enter(&keys, &fold.EncodedEvent{Event: e})
			state.Due()
			for _, id := range []string{"a", "hub", "", e.From} {
				state.Guidance(id, true)
				if !state.Closed() && state.MaySpeak(id) != (state.Guidance(id, false).Kind == parley.MaySpeak) {
					t.Fatalf("guidance of %q and MaySpeak differ in %+v", id, state)
				}
				decideAll(state, keys, id)
			}
		}
	})
}

// decideAll asks a state for everything that has to do with turns.
func decideAll(s fold.State, keys idempotency.Keys, id string) {
	named := eventdata.ClaimHash{}
	if s.Claim != nil {
		named = s.Claim.Hash
	}
	claim, turn := fold.NewClaim{New: eventdata.HashClaim("clm_1_new")}, s.CurrentTurn()
	for _, do := range []fold.Action{
		&fold.Message{Turn: turn, Finality: parley.FinalityTurn, Payload: text("x"), NewClaim: claim},
		&fold.Trace{Turn: turn, Payload: text("x"), NewClaim: claim}, &fold.Take{Turn: turn, NewClaim: claim, Offered: true},
		&fold.Renew{}, &fold.Release{Reason: parley.ClaimYielded}, &fold.Cancel{Turn: turn},
		&fold.EndClaim{Reason: parley.ClaimYielded}, &fold.Timeout{AgentID: id}, &fold.Tick{},
	} {
		fold.Decide(s, keys, fold.Command{Do: do, From: id, Key: "k", Named: &named})
	}
	for _, a := range s.Asks() {
		fold.Decide(s, keys, fold.Command{Do: &fold.Timeout{AgentID: a.AgentID, Since: a.Since, Asked: true},
			From: parley.HubID})
	}
}

// TestCloseOfTheOverdue checks that the close of an overdue conversation reports the time limit, not the caller.
func TestCloseOfTheOverdue(t *testing.T) {
	s := &story{t: t, state: fold.State{ID: "x"}, now: 1000}
	s.create(roundRobin, "", &parley.Limits{DeadlineMs: 5000}, seats("a", "b")...)
	s.now += 5000
	d := fold.Decide(s.state, idempotency.Keys{}, fold.Command{Do: &fold.Close{}, From: "maker", Now: s.now})
	if !errors.Is(d.Err, parley.ErrConversationClosed) || len(d.Events) != 1 {
		t.Fatalf("%+v", d)
	}
	if e := d.Events[0].Event; e.Outcome.Reason != parley.ReasonDeadline || strings.Contains(string(e.Payload), "maker") {
		t.Fatalf("%s %+v", e.Payload, e.Outcome)
	}
}

// TestNothingThere: only create is taken where there is no conversation.
func TestNothingThere(t *testing.T) {
	named := eventdata.HashClaim("clm_1_x")
	for _, do := range []fold.Action{
		&fold.Message{Finality: parley.FinalityTurn, Payload: text("x")}, &fold.Trace{Payload: text("x")},
		&fold.Note{Note: &parley.Note{Schema: "s"}}, &fold.Delta{},
		&fold.AddParticipant{Participant: &parley.Participant{ID: "a"}},
		&fold.Close{}, &fold.AddToken{Token: &parley.TokenRecord{}}, &fold.RevokeToken{},
		&fold.AddSystem{Event: &parley.System{}},
		&fold.AddAttachment{Attachment: &parley.System{}}, &fold.OfferAttachment{Attachment: &parley.System{}}, &fold.Tick{},
		&fold.Take{}, &fold.Renew{}, &fold.Release{}, &fold.Cancel{}, &fold.EndClaim{}, &fold.StartChild{}, &fold.EndChild{},
		&fold.Bind{}, &fold.Callback{}, &fold.EndSession{}, &fold.RequestApproval{}, &fold.ResolveApproval{},
		&fold.EndTrigger{}, &fold.Timeout{},
	} {
		c := fold.Command{Do: do, Named: &named, From: "a", Key: "k"}
		if d := fold.Decide(fold.State{ID: "x"}, idempotency.Keys{}, c); !errors.Is(d.Err, parley.ErrNotFound) ||
			len(d.Events) > 0 {
			t.Errorf("%T: %+v", do, d)
		}
	}
}
