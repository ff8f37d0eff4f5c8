package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/sse"
	"github.com/parleyhub/parley/internal/ssetest"
	"github.com/parleyhub/parley/internal/wire"
)

// bySubscription reads a conversation to its end through the sdk. A restless reader leaves, and
// comes back with its cursor.
func (w *world) bySubscription(c parley.Client, f *feed, r *rand.Rand) {
	for end := false; !end; {
		stay := 1 + r.IntN(60)
		for n, err := range c.Subscribe(w.reading, &parley.SubscribeParams{ConversationID: f.conversation, SinceSeq: f.cursor()}) {
			switch {
			case err != nil:
				w.problem(9, "%s is sent away from %s: %v", f.name, f.conversation, err)
				return
			case n.Event != nil:
				end = f.take(n.Event)
			case n.Guidance != nil:
				w.guided(told{conversation: f.conversation, who: w.readsAs(f), how: "subscribe", seq: n.Guidance.Seq,
					guidance: n.Guidance.Guidance})
			}
			if stay--; end || stay == 0 {
				break
			}
		}
	}
}

// readsAs returns the id as which a feed is read.
func (w *world) readsAs(f *feed) string {
	if f.everything {
		return "admin"
	}
	return "d"
}

// byStream reads a conversation to its end as a stream of server-sent events.
func (w *world) byStream(token string, f *feed, r *rand.Rand) {
	transport := &http.Transport{DialContext: w.net.dial, DisableKeepAlives: true}
	for !w.streamed(transport, token, f, r) {
		time.Sleep(between(r, 0, 100*time.Millisecond))
	}
}

// streamed reads one stream. It returns true at the end of the conversation.
func (w *world) streamed(transport http.RoundTripper, token string, f *feed, r *rand.Rand) (end bool) {
	ctx, cancel := context.WithCancel(w.reading)
	defer cancel()
	since := strconv.FormatInt(f.cursor(), 10)
	address := "http://127.0.0.1/conversations/" + f.conversation + "/events"
	header := http.Header{"Authorization": {"Bearer " + token}}
	if r.IntN(2) == 0 {
		header.Set("Last-Event-ID", since)
	} else {
		address += "?sinceSeq=" + since
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header = header
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		if resp.StatusCode == http.StatusServiceUnavailable {
			return false
		}
		w.problem(9, "%s is sent away from %s: HTTP %d", f.name, f.conversation, resp.StatusCode)
		return true
	}
	stream := ssetest.NewReader(resp.Body, 2<<20)
	for range 1 + r.IntN(60) {
		m, err := stream.Next()
		if err != nil {
			return false
		}
		if w.heard(f, m) {
			return true
		}
	}
	return false
}

// heard takes one message of a stream.
func (w *world) heard(f *feed, m sse.Message) (end bool) {
	switch m.Name {
	case "":
		var e parley.Event
		if err := e.UnmarshalJSON(m.Data); err != nil || m.ID != strconv.FormatInt(e.Seq, 10) {
			w.problem(9, "%s reads what is no event, as %s: %s (%v)", f.name, m.ID, m.Data, err)
			return false
		}
		return f.take(&e)
	case methods.NotifyGuidance:
		var n parley.GuidanceNotification
		if err := json.Unmarshal(m.Data, &n); err != nil {
			w.problem(9, "%s reads what is no guidance: %s", f.name, m.Data)
			return false
		}
		w.guided(told{conversation: f.conversation, who: w.readsAs(f), how: "stream", seq: n.Seq, guidance: n.Guidance})
	}
	return false
}

// wait waits for changes on sockets that are no client's, so that it is known when the answer came.
func (w *world) wait(token string) {
	r := w.random("waiter")
	for w.acts(r) {
		peer := w.dial(token)
		if peer == nil {
			continue
		}
		for w.acts(r) && w.waitOnce(peer, pick(r, lasting()...), pick(r, 0, 50*time.Millisecond, time.Second,
			20*time.Second), r.Int64N(2)) {
		}
		peer.Close()
	}
}

// waitOnce waits after the last event, or after an earlier one. It returns false if the socket is
// closed.
func (w *world) waitOnce(peer *wire.Peer, conversation string, timeout time.Duration, back int64) bool {
	latest, err := w.ask(peer, conversation, 0, 0)
	if err != nil {
		return false
	}
	since := max(latest.LatestSeq-back, 0)
	began := time.Now()
	got, err := w.ask(peer, conversation, since, timeout)
	if err != nil {
		return false
	}
	w.history.mu.Lock()
	defer w.history.mu.Unlock()
	w.waits = append(w.waits, waiting{conversation, since, timeout, began, time.Now(), got.LatestSeq, got.TimedOut})
	w.noteLocked("the waiter waits for %s behind %d, %v since %s: %+v", conversation, since, timeout,
		began.Format("15:04:05.000"), got)
	return true
}

// ask makes one waitForChange.
func (w *world) ask(peer *wire.Peer, conversation string, since int64,
	timeout time.Duration) (r parley.WaitForChangeResult, err error) {
	begin := w.stamps.Add(1)
	params := fmt.Appendf(nil, `{"conversationId":%q,"sinceSeq":%d,"timeoutMs":%d}`, conversation, since,
		timeout.Milliseconds())
	a, err := peer.Start(w.bounded, methods.WaitForChange, params, nil)
	if err != nil {
		return r, err
	}
	raw, err := a.Wait(w.bounded)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, err
	}
	w.hears(conversation, begin, r.LatestSeq)
	return r, nil
}

// look reads here and there, as one who sees everything.
func (w *world) look(c parley.Client) {
	r := w.random("looker")
	for w.acts(r) {
		id := pick(r, lasting()...)
		ctx, cancel := context.WithTimeout(w.bounded, 3*time.Second)
		begin := w.stamps.Add(1)
		switch r.IntN(3) {
		case 0:
			since, limit := int64(r.IntN(8)), 1+r.IntN(8)
			if t, err := c.Tail(ctx, &parley.TailParams{ConversationID: id, SinceSeq: since, Limit: limit}); err == nil {
				w.hears(id, begin, t.LatestSeq)
				w.turned(page{id, since, t.NextSeq, t.Events})
			}
		case 1:
			if s, err := c.GetConversation(ctx, &parley.GetConversationParams{ConversationID: id, Limit: 3}); err == nil {
				w.hears(id, begin, s.LatestSeq)
				w.turned(page{id, 0, s.NextSeq, s.Events})
				w.guided(told{conversation: id, who: "admin", how: "getConversation", seq: s.LatestSeq, guidance: s.Guidance})
			}
		case 2:
			w.explain(ctx, c, id)
		}
		cancel()
	}
}

// explain asks for everybody's guidance.
func (w *world) explain(ctx context.Context, c parley.Client, id string) {
	begin := w.stamps.Add(1)
	e, err := c.Explain(ctx, &parley.ExplainParams{ConversationID: id})
	if err != nil {
		return
	}
	w.hears(id, begin, e.Seq)
	for _, g := range e.Guidance {
		w.guided(told{conversation: id, who: g.ParticipantID, how: "explain", seq: e.Seq, guidance: g.Guidance, exact: true})
	}
}
