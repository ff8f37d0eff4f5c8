package hub_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/internal/limits"
)

// BenchmarkRoute posts notes where so many agents subscribe: one of those that sit there, or that watch the workspace, may be meant, and the others never are. That a note is not stopped
// for the others shows in a cost that does not grow. A hub takes some more than 1,000 agents, so that of more subscriptions each agent has several; and of those that look at a workspace,
// which are longer, some more than 5,000: internal/selector has the benchmark of 10,000.
func BenchmarkRoute(b *testing.B) {
	for _, watch := range []bool{false, true} {
		most := map[bool]int{false: 10_000, true: 5_000}[watch]
		for _, n := range []int{0, 10, 1_000, most} {
			b.Run(fmt.Sprintf("workspace=%t/subscriptions=%d", watch, n), func(b *testing.B) { benchmarkRoute(b, n, watch) })
		}
	}
}

func benchmarkRoute(b *testing.B, n int, watch bool) {
	j := memory.New()
	defer j.Close()
	h := startOn(b, j, counted("x"))
	each := max(1, n/1_000)
	for from := 0; from < n; from += limits.MaxBlueprints * each {
		var names []string
		var all []parley.Blueprint
		for i := from; i < min(n, from+limits.MaxBlueprints*each); i += each {
			names = append(names, fmt.Sprint("a", i))
			all = append(all, parley.Blueprint{Name: fmt.Sprint("a", i), ParametersSchema: json.RawMessage(`{}`), Subscriptions: benchSelectors(i, i+each, watch)})
		}
		x := speaker(b, h, fmt.Sprint("ops", from), 1, names, []string{"green"})
		x.says(all...)
	}
	ann := h.LocalPrincipal("ann").WithWorkspaces("green")
	q := &parley.CreateConversationParams{Participants: seats("ann"), Policy: &parley.Policy{Kind: parley.PolicyOpen},
		Limits: &parley.Limits{MaxEvents: parley.MaxEventsLimit, MaxBytes: parley.MaxBytesLimit}}
	if watch {
		q.Workspace = "green"
	} else {
		q.Participants = append(q.Participants, seatsOf(parley.KindAgent, "a0", "a10", "a20")...)
	}
	id := create(b, h, ann, q)
	note := &parley.SendNoteParams{ConversationID: id, Payload: parley.Note{Schema: "s0", Tags: []string{"t"}, Data: json.RawMessage(`{"x":-1}`)}}
	b.ResetTimer()
	for b.Loop() {
		if _, err := one(func(done func(parley.SeqResult, error)) { h.SendNote(ann, note, done) }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// benchSelectors are subscriptions that each select a separate schema, and the first also a number.
func benchSelectors(from, to int, watch bool) json.RawMessage {
	var all []string
	for i := from; i < to; i++ {
		one := fmt.Sprintf(`{"schema_name":"s%d"`, i)
		if i == 0 {
			one += `,"all_tags":["t"],"context_match":[{"path":"$.x","op":"eq","value":0}]`
		}
		if watch {
			one += `,"scope":"workspace"`
		}
		all = append(all, one+"}")
	}
	return json.RawMessage("[" + strings.Join(all, ",") + "]")
}
