package hub_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// BenchmarkRoute posts notes where so many agents subscribe: one of those that sit there, or that watch the workspace, may be meant, and the others never are. That a note is not stopped
// for the others shows in a cost that does not grow. A hub has room for some more than 1,000; internal/selector has the benchmark of 10,000.
func BenchmarkRoute(b *testing.B) {
	for _, watch := range []bool{false, true} {
		for _, n := range []int{0, 10, 1000} {
			b.Run(fmt.Sprintf("workspace=%t/subscriptions=%d", watch, n), func(b *testing.B) { benchmarkRoute(b, n, watch) })
		}
	}
}

func benchmarkRoute(b *testing.B, n int, watch bool) {
	j := memory.New()
	defer j.Close()
	h := startOn(b, j, counted("x"))
	for from := 0; from < n; from += parley.MaxBlueprints {
		var names []string
		var all []parley.Blueprint
		for i := from; i < min(n, from+parley.MaxBlueprints); i++ {
			names = append(names, fmt.Sprint("a", i))
			selector := fmt.Sprintf(`{"schema_name":"s%d.v1","all_tags":["t"],"context_match":[{"path":"$.x","op":"eq","value":%d}]}`, i, i)
			if watch {
				selector = selector[:len(selector)-1] + `,"scope":"workspace"}`
			}
			one := parley.Blueprint{Name: names[i-from], ParametersSchema: json.RawMessage(`{}`), Subscriptions: json.RawMessage(`[` + selector + `]`)}
			all = append(all, one)
		}
		x := speaker(b, h, fmt.Sprint("ops", from), 1, names, []string{"green"})
		x.says(all...)
	}
	ann := h.LocalPrincipal("ann").WithWorkspaces("green")
	q := &parley.CreateConversationParams{Participants: seats("ann"), Policy: &parley.Policy{Kind: parley.PolicyOpen}, Limits: &parley.Limits{MaxEvents: parley.MaxEventsLimit, MaxBytes: parley.MaxBytesLimit}}
	if watch {
		q.Workspace = "green"
	} else {
		q.Participants = append(q.Participants, seatsOf(parley.KindAgent, "a0", "a1", "a2")...)
	}
	id := create(b, h, ann, q)
	note := &parley.SendNoteParams{ConversationID: id, Payload: parley.Note{Schema: "s0.v1", Tags: []string{"t"}, Data: json.RawMessage(`{"x":-1}`)}}
	b.ResetTimer()
	for b.Loop() {
		if _, err := one(func(done func(parley.SeqResult, error)) { h.SendNote(ann, note, done) }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
