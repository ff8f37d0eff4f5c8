package view

import (
	"testing"

	"github.com/parleyhub/parley"
)

// TestTriggersInALine: triggered agents, those that a limit stopped and ended ones, each in a line
// that others cannot break.
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
