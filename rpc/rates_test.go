package rpc_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/rpc"
)

const note = `{"conversationId":"case","payload":{"schema":"s","data":1}}`

// TestWriteRate: the writes of one token are bounded over all transports together. Other tokens and
// reads are not affected.
func TestWriteRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &rpc.Options{Rates: &rpc.Rates{WritesPerSecond: 10, WriteBurst: 30}})
		admin := w.as("admin")
		admin.create(twoAgents)
		token := admin.token(`{"agentId":"alice","scopes":["read","write","create","claim","approve"]}`)
		byTicket, err := w.upgrade("?ticket="+w.with(token).ticket(`{}`), nil) // 1
		if err != nil {
			t.Fatal(err)
		}
		socket := w.with(token)
		post := func() string {
			_, _, body := w.post(bearer(token), strings.NewReader(
				`{"jsonrpc":"2.0","id":1,"method":"sendNote","params":`+note+`}`))
			return parseReply(t, body).reason()
		}
		rest := func() string {
			return w.plain(bearer(token), "POST", "/conversations/case/notes", `{"payload":{"schema":"s","data":1}}`).reason()
		}
		writes := []func() string{
			func() string { return parseReply(t, socket.call(methods.SendNote, note)).reason() },
			func() string { return parseReply(t, byTicket.call(methods.SendNote, note)).reason() },
			post, rest,
		}
		for i := 1; i < 30; i++ {
			if got := writes[i%len(writes)](); got != "" {
				t.Fatalf("write %d: %q", i+1, got)
			}
		}
		for i, write := range writes {
			if got := write(); got != "rate_limited" {
				t.Errorf("one too many, door %d: %q", i, got)
			}
		}
		for _, method := range []string{methods.SendMessage, methods.SendDelta, methods.CreateConversation,
			methods.CreateToken, methods.CreateTicket, methods.PutAttachment,
			methods.RegisterBlueprints, methods.StartSession, methods.StopSession, methods.RequestApproval,
			methods.ResolveApproval} {
			r := parseReply(t, socket.call(method, `{}`))
			if r.reason() != "rate_limited" || r.Error.Data.RetryAfterMs != 100 {
				t.Errorf("%s: %+v", method, r.Error)
			}
		}
		if a := w.plain(bearer(token), "POST", "/attachments?conversationId=case", "file"); a.status != 429 ||
			a.header.Get("Retry-After") != "1" {
			t.Errorf("a file: %v", a)
		}
		for range 100 {
			socket.must(methods.Tail, `{"conversationId":"case","sinceSeq":0}`)
		}
		w.with(admin.token(`{"agentId":"bob"}`)).must(methods.SendNote, note)
		time.Sleep(100 * time.Millisecond)
		if got := post(); got != "" {
			t.Errorf("after 100 ms: %q", got)
		}
		if got := post(); got != "rate_limited" {
			t.Errorf("and another: %q", got)
		}
		time.Sleep(3 * time.Second)
		for range 30 {
			if got := post(); got != "" {
				t.Fatalf("after a rest: %q", got)
			}
		}
	})
}

// TestChildrenAreNoWayRound: tokens that a token created count as that token, over any number of
// steps and after a restart. Tokens of an admin count separately.
func TestChildrenAreNoWayRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &rpc.Options{Rates: &rpc.Rates{WritesPerSecond: 1, WriteBurst: 5}})
		admin := w.as("admin")
		admin.create(twoAgents)
		token, other := admin.token(`{"agentId":"alice"}`), admin.token(`{"agentId":"alice"}`)
		child := w.with(token).token(`{"agentId":"alice"}`)      // 1
		grandchild := w.with(child).token(`{"agentId":"alice"}`) // 2
		write := func(token string) string {
			return w.plain(bearer(token), "POST", "/conversations/case/notes", `{"payload":{"schema":"s","data":1}}`).reason()
		}
		for i, shown := range []string{token, child, grandchild} {
			if got := write(shown); got != "" {
				t.Fatalf("write %d: %q", i+3, got)
			}
		}
		for i, shown := range []string{token, child, grandchild} {
			if got := write(shown); got != "rate_limited" {
				t.Errorf("one too many with token %d: %q", i, got)
			}
		}
		if got := write(other); got != "" {
			t.Errorf("another token of the same participant: %q", got)
		}
		w.restart()
		for i := range 5 {
			if got := write([]string{token, child, grandchild}[i%3]); got != "" {
				t.Fatalf("write %d after the restart: %q", i+1, got)
			}
		}
		if got := write(grandchild); got != "rate_limited" {
			t.Errorf("one too many after the restart: %q", got)
		}
	})
}

// TestByteRate: bytes are bounded too. A write larger than the burst passes after a pause.
func TestByteRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &rpc.Options{Rates: &rpc.Rates{BytesPerSecond: 10_000, ByteBurst: 100_000}})
		w.as("alice").create(twoAgents)
		time.Sleep(time.Minute)
		send := func(bytes int) reply {
			_, _, body := w.post(speaks("alice"), strings.NewReader(fmt.Sprintf(
				`{"jsonrpc":"2.0","id":1,"method":"sendNote",`+
					`"params":{"conversationId":"case","payload":{"schema":"s","data":%q}}}`,
				strings.Repeat("x", bytes))))
			return parseReply(t, body)
		}
		for range 9 {
			if got := send(10_000).reason(); got != "" {
				t.Fatalf("within the burst: %q", got)
			}
		}
		if r := send(50_000); r.reason() != "rate_limited" || r.Error.Data.RetryAfterMs < 4000 ||
			r.Error.Data.RetryAfterMs > 5000 {
			t.Errorf("over it: %+v", r.Error)
		}
		if got := send(100).reason(); got != "" {
			t.Errorf("the refused one was counted: %q", got)
		}
		time.Sleep(10 * time.Second)
		if got := send(500_000).reason(); got != "" {
			t.Errorf("more than the burst, after a rest: %q", got)
		}
		if got := send(500_000).reason(); got != "rate_limited" {
			t.Errorf("and again: %q", got)
		}
		time.Sleep(10 * time.Second)
		file := strings.Repeat("x", 90_000)
		if a := w.plain(speaks("alice"), "POST", "/attachments?conversationId=case", file); a.status != 201 {
			t.Errorf("a file: %v", a)
		}
		if got := send(50_000).reason(); got != "rate_limited" {
			t.Errorf("after it: %q", got)
		}
		params := fmt.Sprintf(`{"conversationId":"case","data":%q}`, base64.StdEncoding.EncodeToString([]byte(file)))
		if got := parseReply(t, w.as("alice").call(methods.PutAttachment, params)).reason(); got != "rate_limited" {
			t.Errorf("another by socket: %q", got)
		}
	})
}

// TestStreams: the streams of one token are bounded over sockets and SSE together. The end of one
// makes room.
func TestStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, &rpc.Options{Rates: &rpc.Rates{Streams: 3}})
		admin := w.as("admin")
		admin.create(twoAgents)
		token := admin.token(`{"agentId":"alice"}`)
		socket, other := w.with(token), w.with(token)
		socket.must(methods.Subscribe, `{"conversationId":"case"}`)
		socket.must(methods.Subscribe, `{"conversationId":"case"}`)
		f := w.follow(bearer(token), events)
		full := func(when string) {
			t.Helper()
			synctest.Wait()
			if got := parseReply(t, other.call(methods.Subscribe,
				`{"conversationId":"case"}`)).reason(); got != "rate_limited" {
				t.Errorf("%s, a subscription: %q", when, got)
			}
			if a := w.plain(bearer(token), "GET", events, ""); a.status != 429 {
				t.Errorf("%s, a stream: %v", when, a)
			}
		}
		full("three streams")
		if got := parseReply(t, socket.call(methods.Subscribe,
			`{"conversationId":"absent"}`)).reason(); got != "rate_limited" {
			t.Errorf("of nothing: %q", got)
		}
		socket.must(methods.Unsubscribe, `{"subscriptionId":"sub_1"}`)
		other.must(methods.Subscribe, `{"conversationId":"case"}`)
		full("after unsubscribe")
		f.leave()
		synctest.Wait()
		other.must(methods.Subscribe, `{"conversationId":"case"}`)
		full("after the stream has ended")
		other.close()
		synctest.Wait()
		for range 2 { // and one that fails takes no room
			if got := parseReply(t, socket.call(methods.Subscribe,
				`{"conversationId":"absent"}`)).reason(); got != "not_found" {
				t.Errorf("of nothing: %q", got)
			}
		}
		w.follow(bearer(token), events)
		other = w.with(token)
		other.must(methods.Subscribe, `{"conversationId":"case"}`)
		full("after a socket has ended")
		w.follow(bearer(admin.token(`{"agentId":"alice"}`)), events) // another token
	})
}
