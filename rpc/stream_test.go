package rpc_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/ssetest"
	"github.com/parleyhub/parley/rpc"
)

// say sends a message of alice's that leaves her turn open.
func (p *peer) say(text string) {
	p.t.Helper()
	p.must(methods.SendMessage, fmt.Sprintf(`{"conversationId":"case","payload":{"text":%q},"finality":"none"}`,
		text))
}

func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		alice := w.as("alice")
		alice.create(twoAgents)
		f := w.follow(speaks("bob"), events)
		for name, want := range map[string]string{"Cache-Control": "no-store", "X-Accel-Buffering": "no",
			"X-Content-Type-Options": "nosniff"} {
			if got := f.resp.Header.Get(name); got != want {
				t.Errorf("%s: %q", name, got)
			}
		}
		synctest.Wait()
		const wait = `{"conversationId":"case","seq":%d,"guidance":{"kind":"wait","turn":1,"speaker":"alice","reason":"%s"}}`
		want := []string{"1", `caught_up {"conversationId":"case","seq":1}`,
			"guidance " + fmt.Sprintf(wait, 1, "alice is the first participant.")}
		if got := f.take(); !slices.Equal(got, want) {
			t.Errorf("the replay is\n%q\nwant\n%q", got, want)
		}
		alice.must(methods.SendDelta, `{"conversationId":"case","turn":1,"index":0,"text":"hel"}`)
		alice.say("hello")
		synctest.Wait()
		want = []string{
			`delta {"conversationId":"case","turn":1,"from":"alice","index":0,"text":"hel"}`, "2",
			"guidance " + fmt.Sprintf(wait, 2, "turn 1 is open and belongs to alice."),
		}
		if got := f.take(); !slices.Equal(got, want) {
			t.Errorf("live comes\n%q\nwant\n%q", got, want)
		}
		if text := f.text(); !strings.HasPrefix(text, "retry: 1000\n\nid: 1\ndata: {\"seq\":1,") ||
			!strings.Contains(text, "\n\nid: 2\ndata: "+w.stored("case")[1]+"\n\n") {
			t.Errorf("the stream is %q", text)
		}
	})
}

// TestEventsFrom: the first event of a stream for each cursor, and the cursors that are refused.
func TestEventsFrom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		alice := w.as("alice")
		alice.create(twoAgents)
		alice.say("2")
		alice.say("3")
		for _, c := range []struct {
			name, query, last string
			want              []string
		}{
			{"the beginning", "", "", []string{"1", "2", "3"}},
			{"sinceSeq", "?sinceSeq=1", "", []string{"2", "3"}},
			{"Last-Event-ID", "", "2", []string{"3"}},
			{"both", "?sinceSeq=3", "1", []string{"2", "3"}},
			{"both, 0", "?sinceSeq=3", "0", []string{"1", "2", "3"}},
			{"messages", "?types=message", "", []string{"2", "3"}},
			{"two types", "?types=trace,system", "", []string{"1"}},
			{"the end", "?sinceSeq=3", "", nil},
		} {
			h := speaks("bob")
			if c.last != "" {
				h.Set("Last-Event-ID", c.last)
			}
			f := w.follow(h, events+c.query)
			synctest.Wait()
			got := slices.DeleteFunc(f.take(), func(s string) bool { return strings.Contains(s, " ") })
			if !slices.Equal(got, c.want) {
				t.Errorf("%s: %q", c.name, got)
			}
			f.leave()
		}
		for _, c := range []struct {
			query  string
			last   []string
			status int
			want   string
		}{
			{"?sinceSeq=4", nil, 410, `"reason":"cursor_ahead"`}, {"", []string{"4"}, 410, `"reason":"cursor_ahead"`},
			{"", []string{"-1"}, 400, "Last-Event-ID"}, {"", []string{"01"}, 400, "Last-Event-ID"},
			{"", []string{"1.0"}, 400, "Last-Event-ID"}, {"", []string{""}, 400, "Last-Event-ID"},
			{"", []string{"9007199254740992"}, 400, "Last-Event-ID"}, {"", []string{"x"}, 400, "Last-Event-ID"},
			{"", []string{"1", "2"}, 400, "Last-Event-ID"},
			{"?sinceSeq=-1", nil, 400, "sinceSeq"}, {"?sinceSeq=1&sinceSeq=1", nil, 400, "sinceSeq is there twice"},
			{"?sinceSeq=x", []string{"1"}, 400, "sinceSeq"},
			{"?types=", nil, 400, "types"}, {"?types=message,", nil, 400, "types"}, {"?types=delta", nil, 400, "types"},
			{"?types=message&types=trace", nil, 400, "types is there twice"},
			{"?until=any", nil, 400, "until"}, {"?until=closed&until=closed", nil, 400, "until is there twice"},
			{"?since=1", nil, 400, "since is not a param"},
		} {
			h := speaks("bob")
			h["Last-Event-ID"] = c.last
			if a := w.plain(h, "GET", events+c.query, ""); a.status != c.status || !strings.Contains(a.body, c.want) ||
				a.reason() == "" {
				t.Errorf("%s, Last-Event-ID %q: %v", c.query, c.last, a)
			}
		}
		synctest.Wait() // the last handler may be on its way out
		if n := rpc.CountStreams(w.server); n != 0 {
			t.Errorf("%d streams are left", n)
		}
	})
}

// TestEventsUntilClosed: the stream ends after the last event, and a browser that connects again
// gets 204.
func TestEventsUntilClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		alice := w.as("alice")
		alice.create(twoAgents)
		live := w.follow(speaks("bob"), events+"?until=closed")
		filtered := w.follow(speaks("bob"), events+"?until=closed&types=system")
		stays := w.follow(speaks("bob"), events)
		synctest.Wait()
		alice.must(methods.SendMessage, `{"conversationId":"case","payload":{"text":"bye"},"finality":"conversation"}`)
		late := w.follow(speaks("root"), events+"?until=closed")
		for name, f := range map[string]*follower{"live": live, "filtered": filtered, "late": late} {
			synctest.Wait()
			select {
			case <-f.done:
			default:
				t.Fatalf("%s: the stream goes on", name)
			}
			if !strings.Contains(f.text(), `"kind":"closed"`) || f.lastID() != "2" || f.err.Error() != "EOF" {
				t.Errorf("%s: last id %q, %v: %q", name, f.lastID(), f.err, f.text())
			}
			h := speaks("bob")
			h.Set("Last-Event-ID", f.lastID())
			if a := w.plain(h, "GET", events+"?until=closed", ""); a.status != 204 || a.body != "" {
				t.Errorf("%s, again: %v", name, a)
			}
		}
		if got := filtered.events(); len(got) != 1 {
			t.Errorf("system events only: %q", got)
		}
		select {
		case <-stays.done:
			t.Error("a stream without until ends")
		default:
		}
		if a := w.plain(speaks("bob"), "GET", events+"?until=closed&sinceSeq=3", ""); a.status != 410 {
			t.Errorf("beyond the end: %v", a)
		}
	})
}

// TestEventsKeepAlive: a silent stream gets a comment every 15 s, also while there are events that
// its reader may not see.
func TestEventsKeepAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		alice := w.as("alice")
		alice.create(twoAgents)
		alice.say("a")
		f := w.follow(bearer(alice.token(`{"agentId":"bob"}`)), events)
		synctest.Wait()
		quiet := f.text()
		time.Sleep(15*time.Second - time.Millisecond)
		synctest.Wait()
		if got := strings.TrimPrefix(f.text(), quiet); got != "" {
			t.Errorf("before 15 s came %q", got)
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if got := strings.TrimPrefix(f.text(), quiet); got != ":\n\n" {
			t.Errorf("after 15 s came %q", got)
		}
		for range 6 { // a minute of traces that bob does not see
			time.Sleep(10 * time.Second)
			alice.must(methods.SendTrace, `{"conversationId":"case","payload":{"kind":"thought"}}`)
		}
		synctest.Wait()
		if got := strings.TrimPrefix(f.text(), quiet); got != strings.Repeat(":\n\n", 5) {
			t.Errorf("after a minute of traces came %q", got)
		}
		time.Sleep(7 * time.Second)
		alice.say("b")
		time.Sleep(14 * time.Second)
		synctest.Wait()
		if got := f.text(); strings.HasSuffix(got, ":\n\n") {
			t.Errorf("less than 15 s after an event came a comment: %q", got)
		}
	})
}

// TestEventsOfOthers: a stream never has them, neither in replay nor live.
func TestEventsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		alice := w.as("alice")
		alice.create(`{"conversationId":"case","participants":[{"id":"alice","kind":"peer","private":"secret plan"},` +
			`{"id":"bob","kind":"peer"}]}`)
		trace := func() {
			alice.must(methods.SendTrace, `{"conversationId":"case","payload":{"kind":"thought","text":"secret"}}`)
		}
		trace()
		alice.say("hello")
		bob := w.follow(bearer(alice.token(`{"agentId":"bob"}`)), events)
		tracer := w.follow(bearer(alice.token(`{"agentId":"bob","scopes":["read","trace"]}`)), events)
		own := w.follow(bearer(alice.token(`{"agentId":"alice"}`)), events)
		synctest.Wait()
		trace()
		alice.say("again")
		synctest.Wait()
		if text := bob.text(); strings.Contains(text, "secret") || len(bob.events()) != 3 {
			t.Errorf("bob sees %q", text)
		}
		for name, f := range map[string]*follower{"with scope trace": tracer, "their author": own} {
			if got := f.events(); !slices.Equal(got, w.stored("case")) {
				t.Errorf("%s sees %q", name, got)
			}
		}
	})
}

// TestEventsAreBytes: events of every size and kind of text arrive as stored.
func TestEventsAreBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		alice := w.as("alice")
		alice.create(twoAgents)
		for _, text := range []string{
			`\r\n\r\nid: 9\ndata: forged\n\n`, `\u2028\u2029\u0085`, "\u2028\u2029\u0085 \ufeff", `data: x`,
			`\ud83d\ude00<b>&\u0026`, `\u0000`,
		} {
			alice.must(methods.SendMessage, `{"conversationId":"case","payload":{ "text" : "`+text+
				`" , "n":1.0e5 },"finality":"none"}`)
		}
		for size := 1; size < 900<<10; size = size*3 + 7 {
			alice.say(strings.Repeat("x", size))
		}
		alice.say(strings.Repeat("y", parley.MaxEventBytes-200))
		f := w.follow(speaks("bob"), events)
		synctest.Wait()
		want := w.stored("case")
		if got := f.events(); !slices.Equal(got, want) {
			for i := range want {
				if i >= len(got) || got[i] != want[i] {
					t.Fatalf("event %d of %d is not as stored: %.200q", i+1, len(want), got[min(i, len(got)-1)])
				}
			}
		}
	})
}

// TestEventsAcrossCuts: a reader that is cut again and again and continues after its last id gets
// each event once, in order.
func TestEventsAcrossCuts(t *testing.T) {
	w := newLoopbackWorld(t, nil)
	alice := w.as("alice")
	alice.create(twoAgents)
	const messages = 300
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for range messages {
			alice.call(methods.SendMessage, `{"conversationId":"case","payload":{"text":"a"},"finality":"none"}`)
		}
		alice.call(methods.CloseConversation, `{"conversationId":"case"}`)
	}()
	random := rand.New(rand.NewPCG(1, 2))
	var got []string
	last, connections := "", 0
	for ; connections < 10*messages; connections++ {
		h := speaks("bob")
		if last != "" {
			h.Set("Last-Event-ID", last)
		}
		resp := w.do(h, "GET", events+"?until=closed", "")
		if resp.StatusCode == 204 {
			resp.Body.Close()
			break
		}
		read, id := readSome(resp.Body, random.IntN(9))
		resp.Body.Close()
		got = append(got, read...)
		if id != "" {
			last = id
		}
	}
	<-sent
	if want := w.stored("case"); !slices.Equal(got, want) || len(want) != messages+2 || connections < 50 {
		t.Errorf("%d events came over %d connections; %d are stored", len(got), connections, len(want))
	}
}

// readSome reads n messages of a stream, fewer if it ends, and returns its events and its last id.
func readSome(stream io.Reader, n int) (events []string, last string) {
	r := ssetest.NewReader(stream, parley.MaxFrameBytes)
	for range n {
		m, err := r.Next()
		if err != nil {
			break
		}
		if m.Name == "" {
			events = append(events, string(m.Data))
		}
	}
	return events, r.LastID()
}
