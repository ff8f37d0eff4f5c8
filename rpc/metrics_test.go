package rpc_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
)

// get asks the door for a path.
func (w *world) get(path string, header http.Header) (int, string) {
	w.t.Helper()
	req, err := http.NewRequest(http.MethodGet, "http://"+w.addr+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	if header != nil {
		req.Header = header
	}
	resp, err := w.client().Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// scrape returns the text of /metrics.
func (w *world) scrape() string {
	w.t.Helper()
	status, text := w.get("/metrics", bearer(devToken))
	if status != http.StatusOK {
		w.t.Fatalf("/metrics: %d %s", status, text)
	}
	return text
}

// series returns the series of the hub in a text of /metrics, each with its value.
func series(t *testing.T, text string) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "parley_") {
			continue
		}
		name, value, _ := strings.Cut(line, " ")
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		out[name] = v
	}
	return out
}

// idle are the series of a hub that has done nothing.
func idle() map[string]float64 {
	want := map[string]float64{
		fmt.Sprintf(`parley_build_info{protocol=%q,version="0.1.0"}`, parley.ProtocolVersion): 1,
		"parley_ready": 1, "parley_storage_full": 0, "parley_log_failed": 0,
		`parley_events_appended_total{type="message"}`: 0, `parley_events_appended_total{type="trace"}`: 0,
		`parley_events_appended_total{type="system"}`: 0,
		"parley_append_duration_seconds_count":        0, "parley_append_duration_seconds_sum": 0,
		"parley_duplicates_total": 0, "parley_logins_refused_total": 0, "parley_connections_refused_total": 0,
		"parley_conversations_loaded": 0, "parley_subscribers": 0,
		`parley_subscriber_lag_events{stat="max"}`: 0, `parley_subscriber_lag_events{stat="sum"}`: 0,
		"parley_journal_bytes":            0,
		`parley_sockets{state="pending"}`: 0, `parley_sockets{state="authenticated"}`: 0, "parley_streams": 0,
		"parley_requests":                     0,
		"parley_socket_received_frames_total": 0, "parley_socket_received_bytes_total": 0,
		"parley_socket_sent_frames_total": 0, "parley_socket_sent_bytes_total": 0,
		"parley_offers_total": 0, "parley_claims_taken_total": 0, "parley_claims": 0, "parley_executors": 0,
		"parley_conversations_open": 0,
	}
	for _, end := range parley.ClaimEnds {
		want[fmt.Sprintf("parley_claims_ended_total{reason=%q}", end)] = 0
	}
	for _, le := range []string{"0.00025", "0.0005", "0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25",
		"0.5", "1", "2.5", "5", "10", "+Inf"} {
		want[fmt.Sprintf("parley_append_duration_seconds_bucket{le=%q}", le)] = 0
	}
	for _, name := range []string{"parley_turn_duration_seconds", "parley_claim_wait_seconds"} {
		want[name+"_count"], want[name+"_sum"] = 0, 0
		for _, le := range []string{"0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "30", "60",
			"300", "600", "3600", "+Inf"} {
			want[fmt.Sprintf("%s_bucket{le=%q}", name, le)] = 0
		}
	}
	for _, row := range parley.Errors {
		want[fmt.Sprintf("parley_refusals_total{reason=%q}", row.Reason())] = 0
	}
	return want
}

// TestMetricsCount uses all transports of a hub and compares every series with its actions.
func TestMetricsCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		want := idle()
		if d := cmp.Diff(want, series(t, w.scrape())); d != "" {
			t.Fatalf("a hub at rest (-want +got):\n%s", d)
		}
		received, sent := 0, 0
		ask := func(p *peer, frame string) {
			p.send(frame)
			synctest.Wait()
			received += len(frame)
			want["parley_socket_received_frames_total"]++
			for _, f := range p.take() {
				sent += len(f)
				want["parley_socket_sent_frames_total"]++
			}
		}
		call := func(p *peer, method, params string) {
			ask(p, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params))
		}
		a, b := w.dial("a", nil), w.dial("b", nil)
		w.dial("c", nil) // says nothing
		call(a, methods.Authenticate, `{"token":"dev","agentId":"a"}`)
		call(b, methods.Authenticate, `{"token":"plt_no_such"}`)
		call(b, methods.Ping, `{}`)
		call(a, methods.CreateConversation,
			`{"conversationId":"c","participants":[{"id":"a","kind":"peer"},{"id":"b","kind":"peer"}]}`)
		call(a, methods.Subscribe, `{"conversationId":"c","sinceSeq":1,"types":["message"]}`)
		for range 2 {
			call(a, methods.SendMessage,
				`{"conversationId":"c","payload":{"text":"x"},"finality":"none","clientRequestId":"k"}`)
		}
		w.journal.Hold()
		call(a, methods.SendTrace, `{"conversationId":"c","payload":{"kind":"x"}}`)
		time.Sleep(30 * time.Millisecond)
		w.journal.Release()
		ask(a, "not JSON")
		ask(a, "[]")
		call(a, "noSuchMethod", `{}`)
		call(a, methods.Tail, `{"conversationId":"absent","sinceSeq":0}`)
		synctest.Wait()
		for _, p := range []*peer{a, b} {
			for _, f := range p.take() {
				sent += len(f)
				want["parley_socket_sent_frames_total"]++
			}
		}
		w.post(bearer("wrong"), strings.NewReader(`{}`))
		w.post(bearer(devToken), strings.NewReader(`{`))
		w.post(bearer(devToken), strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"subscribe","params":{}}`))
		w.post(http.Header{"Content-Type": {"text/plain"}}, strings.NewReader(`{}`))
		w.post(http.Header{"Origin": {"https://elsewhere.example"}}, strings.NewReader(`{}`))
		w.get("/metrics", nil)

		want["parley_socket_received_bytes_total"], want["parley_socket_sent_bytes_total"] = float64(received), float64(sent)
		want[`parley_sockets{state="pending"}`], want[`parley_sockets{state="authenticated"}`] = 2, 1
		want[`parley_events_appended_total{type="message"}`] = 1
		want[`parley_events_appended_total{type="trace"}`] = 1
		want[`parley_events_appended_total{type="system"}`] = 1
		want["parley_duplicates_total"], want["parley_conversations_loaded"], want["parley_subscribers"] = 1, 1, 1
		want["parley_conversations_open"] = 1
		want["parley_journal_bytes"] = float64(w.journal.Size())
		want["parley_logins_refused_total"] = 2
		want["parley_append_duration_seconds_sum"] = 0.03
		for name := range want {
			if strings.HasPrefix(name, "parley_append_duration_seconds_bucket") {
				le, err := strconv.ParseFloat(strings.Split(name, `"`)[1], 64)
				if err != nil {
					t.Fatal(err)
				}
				want[name] = 2
				if le >= 0.03 {
					want[name] = 3
				}
			}
		}
		want["parley_append_duration_seconds_count"] = 3
		for reason, n := range map[error]float64{
			parley.ErrUnauthenticated: 4, parley.ErrParse: 2, parley.ErrInvalidRequest: 2, parley.ErrMethodNotFound: 2,
			parley.ErrNotFound: 1, parley.ErrForbidden: 1,
		} {
			want[fmt.Sprintf("parley_refusals_total{reason=%q}", reason)] = n
		}
		if d := cmp.Diff(want, series(t, w.scrape())); d != "" {
			t.Errorf("after work (-want +got):\n%s", d)
		}
	})
}

// TestMetricsDoNotGrow: the content of a hub and the text of callers create no series, and do not
// appear in any.
func TestMetricsDoNotGrow(t *testing.T) {
	w := newWorld(t, nil)
	before := series(t, w.scrape())
	admin := w.hub.LocalPrincipal("CANARY-creator", parley.ScopeAdmin)
	many := 10_000
	if testing.Short() {
		many = 500
	}
	answers := make(chan error, many)
	for i := range many {
		q := &parley.CreateConversationParams{
			ConversationID: fmt.Sprint("CANARY-", i), Title: "CANARY title",
			Participants: []parley.Participant{{ID: fmt.Sprint("CANARY-p", i), Kind: parley.KindPeer}},
		}
		w.hub.CreateConversation(admin, q, func(_ *parley.Snapshot, err error) { answers <- err })
	}
	for range many {
		if err := <-answers; err != nil {
			t.Fatal(err)
		}
	}
	p := w.as("CANARY-p1")
	p.must(methods.SendMessage,
		`{"conversationId":"CANARY-1","payload":{"text":"CANARY text","tags":["CANARY"]},"finality":"none",`+
			`"clientRequestId":"CANARY-key"}`)
	token := p.token(`{"agentId":"CANARY-p2"}`)
	w.with(token).must(methods.Ping, `{}`)
	p.must(methods.Subscribe, `{"conversationId":"CANARY-1"}`)
	p.call("CANARYmethod", `{}`)
	p.call(methods.SendMessage, `{"conversationId":"CANARY-absent","payload":{"CANARY":1},"finality":"CANARY"}`)
	w.post(bearer("plt_CANARY_secret"), strings.NewReader(`{}`))
	w.post(http.Header{"Origin": {"https://CANARY.example"}}, strings.NewReader(`{}`))
	w.get("/CANARY", bearer(devToken))
	if _, err := w.hub.RegisterAgent(parley.AgentInfo{Name: "CANARY", Type: parley.AgentTypeAgent,
		Description: "CANARY"}); err != nil {
		t.Fatal(err)
	}
	text := w.scrape()
	after := series(t, text)
	if d := cmp.Diff(slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(after))); d != "" {
		t.Errorf("series came or went (-before +after):\n%s", d)
	}
	// with the token, and the log of tokens
	if got := after[`parley_events_appended_total{type="system"}`]; got != float64(many+2) {
		t.Errorf("%v system events were counted", got)
	}
	for _, secret := range []string{"canary", strings.Split(token, "_")[2], strings.Split(token, "_")[1]} {
		if at := strings.Index(strings.ToLower(text), strings.ToLower(secret)); at >= 0 {
			t.Errorf("/metrics shows %q: %s", secret, text[max(0, at-80):min(len(text), at+80)])
		}
	}
}

// TestMetricsAreOfGoodForm: the metrics follow the rules of Prometheus, and include those of Go and
// of the process.
func TestMetricsAreOfGoodForm(t *testing.T) {
	text := newWorld(t, nil).scrape()
	problems, err := promlint.New(bytes.NewReader([]byte(text))).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "parley_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
	for _, name := range []string{"go_goroutines ", "process_open_fds "} {
		if !strings.Contains(text, "\n"+name) {
			t.Errorf("there is no %s", name)
		}
	}
}
