package hooks_test

import (
	"net/http"
	"testing"

	"github.com/parleyhub/parley"
)

// The note of a delivery continues the span of its sender. A repeated delivery may have another
// span. An invalid header is ignored.
func TestTraceparent(t *testing.T) {
	const span = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	w := newWorld(t, secretOf("a"))
	from := func(id, traceparent string) answer {
		return w.send(delivery{id: id, change: func(h http.Header) { h.Set("traceparent", traceparent) }})
	}
	for i, c := range []struct{ id, header, want string }{{"msg_1", span, span}, {"msg_2", "x", ""}} {
		a := from(c.id, c.header)
		if a.status != http.StatusAccepted {
			t.Fatalf("%d %s", a.status, a.text)
		}
		page, err := w.hub.InProcess(t, "bot").Tail(t.Context(), &parley.TailParams{ConversationID: w.conversation,
			SinceSeq: a.posted.Seq - 1})
		if err != nil || len(page.Events) == 0 {
			t.Fatal(page, err)
		}
		if got := page.Events[0].Traceparent; got != c.want {
			t.Errorf("delivery %d was noted in %q, want %q", i, got, c.want)
		}
	}
	if a := from("msg_1", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"); a.status != http.StatusAccepted ||
		!a.posted.Duplicate {
		t.Errorf("again, in another span: %d %s", a.status, a.text)
	}
}
