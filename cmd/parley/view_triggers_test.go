package main

import (
	"testing"

	"github.com/parleyhub/parley"
)

// TestTriggersInALine: whom an event has woken, what a limit has stopped, and what has ended, each in a line that others cannot break.
func TestTriggersInALine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s    parley.System
		want string
	}{
		{parley.System{Kind: parley.KindTriggerMatched, Trigger: &parley.TriggerRecord{Seq: 5, Wakes: []parley.Wake{
			{AgentID: "bob"}, {AgentID: "eve", SessionID: "ses_1"}, {AgentID: "mal", Stopped: parley.StoppedMaxHops},
		}}}, "#5 wakes bob, eve in ses_1; stopped: mal, max_hops"},
		{parley.System{Kind: parley.KindTriggerMatched, Trigger: &parley.TriggerRecord{Seq: 5, Wakes: []parley.Wake{
			{AgentID: "mal", Stopped: parley.StoppedMaxWakes}, {AgentID: "bob", Stopped: parley.StoppedTooMany},
		}}}, "#5 wakes nobody; stopped: mal, max_wakes; bob, too_many"},
		{parley.System{Kind: parley.KindTriggerEnded, Detail: "no such\nagent", Trigger: &parley.TriggerRecord{
			Seq: 5, AgentID: "eve", Reason: parley.TriggerNotStarted,
		}}, `#5 wakes eve no more: not_started, no such\nagent`},
		{parley.System{Kind: parley.KindTriggerMatched}, "trigger_matched {}"},
	} {
		if got := triggerText(&parley.Event{Payload: []byte("{}")}, c.s); got != c.want {
			t.Errorf("%q, expected %q", got, c.want)
		}
	}
	e := &parley.Event{Cause: &parley.Cause{ConversationID: "c1", Seq: 3}, Hops: 2}
	if got := causedText(e); got != "(for c1#3, hop 2)" {
		t.Errorf("%q", got)
	}
}

// TestSelectorsInALine: what a selector is for and what it matches.
func TestSelectorsInALine(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`[{"schema_name":"a.v1","all_tags":["x","y"]}]`:                                                            "wakes on a.v1, with all of the tags x y",
		`[{"any_tags":[]}]`:                                                                                        "wakes on anything, with any of the tags (none: nothing has one)",
		`[{"context_match":[{"path":"$.n","op":"exists"}],"scope":"workspace"}]`:                                   "wakes on anything, $.n exists, in the workspace",
		`[{"schema_name":"a.v1","role":"context","fetch":{"method":"vector","nn":3},"key":"near"}]`:                "context near: the 3 most alike of a.v1",
		`[{"schema_name":"a.v1","role":"context","fetch":"recent","limit":4,"scope":"workspace","key":"history"}]`: "context history: the last 4 of a.v1, in the workspace",
	} {
		s, faults := parley.ParseSubscriptions([]byte(raw))
		if len(faults) > 0 {
			t.Fatalf("%s: %v", raw, faults)
		}
		if got := selectorText(&s.Selectors[0]); got != want {
			t.Errorf("%s: %q, expected %q", raw, got, want)
		}
	}
}
