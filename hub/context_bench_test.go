package hub_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/internal/limits"
)

// BenchmarkContext: latest is one event before 10,000 others, recent the last 100 of those, and vector the nearest of 1,000, whose vectors are kept.
func BenchmarkContext(b *testing.B) {
	for _, c := range []struct {
		name, selector string
		events         int
	}{
		{"latest", `{"schema_name":"rare.v1","role":"context"}`, 10_000},
		{"recent", `{"schema_name":"doc.v1","role":"context","fetch":{"method":"recent","limit":100}}`, 10_000},
		{"vector", `{"schema_name":"doc.v1","role":"context","fetch":"vector"}`, 1_000},
	} {
		b.Run(c.name, func(b *testing.B) {
			h := benchOn(b, "bolt")
			p, id := benchFed(b, h, c.selector, c.events)
			q := &parley.GetContextParams{ConversationID: id, AgentID: "calc"}
			if _, err := h.GetContext(b.Context(), p, q); err != nil { // vectors are made once
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				r, err := h.GetContext(b.Context(), p, q)
				if err != nil || len(r.Sources[0].Events) == 0 {
					b.Fatalf("%+v, %v", r, err)
				}
			}
		})
	}
}

// benchFed makes a conversation of an agent with one context selector, and so many notes after one that is rare.
func benchFed(b *testing.B, h *hub.Hub, selector string, n int) (*hub.Principal, string) {
	x := &host{id: "box", runner: &runner{t: b, h: h}}
	x.conn = h.Connect(x.notify, func() {})
	b.Cleanup(x.conn.Close)
	x.p = h.LocalPrincipal("ops").SpeakingAs("calc").On(x.conn)
	x.mustRegister(parley.RegisterExecutorParams{ExecutorID: x.id, Mode: parley.ModePush, GraceMs: limits.OfflineMs})
	x.says(listens("calc", `[{"schema_name":"go.v1"},`+selector+`]`))
	ann := h.LocalPrincipal("ann")
	id := create(b, h, ann, hall("calc"))
	noting(b, h, ann, id, "rare.v1", `{"rare":true}`)
	answers := make(chan error, n)
	for i := range n {
		data := json.RawMessage(fmt.Sprintf(`{"title":"document %d","text":"%s","words":"%d %d"}`, i, words, i%17, i%29))
		h.SendNote(ann, &parley.SendNoteParams{ConversationID: id, Payload: parley.Note{Schema: "doc.v1", Data: data}},
			func(_ parley.SeqResult, err error) { answers <- err })
		if i%500 == 499 {
			for range 500 {
				if err := <-answers; err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	say(b, h, ann, message(id, "which document is about a lazy dog, 3?", parley.FinalityTurn, ""))
	return x.p, id
}
