package a2a_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/a2a"
)

// A remote agent gets the span of the turn in each request of every dialect, and none without a
// span.
func TestTraceparentHeader(t *testing.T) {
	const asker = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for i, d := range dialects {
		for _, streaming := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, streaming %v", d.name, streaming), func(t *testing.T) {
				r := newRemote(t, i, streaming)
				w := newWorld(t, &a2a.Options{CardURL: r.URL})
				w.answer(t, w.say(t, "hello"))
				if n, all := r.tracedBy(asker); n > 0 || all == 0 {
					t.Errorf("%d of %d requests say of which span they are", n, all)
				}
				said, err := w.ann.SendMessage(t.Context(), &parley.SendMessageParams{
					ConversationID: w.id, Payload: json.RawMessage(`{"text":"hello"}`), Finality: parley.FinalityTurn,
					Traceparent: asker,
				})
				if err != nil {
					t.Fatal(err)
				}
				_, before := r.tracedBy(asker)
				w.answer(t, said.Seq)
				if n, all := r.tracedBy(asker); n == 0 || n < all-before {
					t.Errorf("%d of %d requests say of which span they are", n, all-before)
				}
			})
		}
	}
}

// tracedBy counts all requests, and those with a span.
func (r *remote) tracedBy(traceparent string) (n, all int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.headers {
		if got := h[http.CanonicalHeaderKey("traceparent")]; len(got) == 1 && got[0] == traceparent {
			n++
		}
	}
	return n, len(r.headers)
}
