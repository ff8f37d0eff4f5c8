package rpc_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/sse"
	"github.com/parleyhub/parley/internal/ssetest"
)

const events = "/conversations/case/events"

// follower reads an SSE stream to its end.
type follower struct {
	t    testing.TB
	resp *http.Response
	done chan struct{} // closed at the end of the stream

	mu   sync.Mutex // guards the fields below
	all  []sse.Message
	raw  bytes.Buffer
	last string
	err  error
}

// follow opens a stream; one that is refused fails the test.
func (w *world) follow(header http.Header, target string) *follower {
	w.t.Helper()
	return w.reads(w.do(header, "GET", target, ""))
}

// reads follows the stream of an answer.
func (w *world) reads(resp *http.Response) *follower {
	w.t.Helper()
	f := &follower{t: w.t, resp: resp, done: make(chan struct{})}
	if f.resp.StatusCode != http.StatusOK || f.resp.Header.Get("Content-Type") != sse.MediaType {
		body, _ := io.ReadAll(f.resp.Body) // for the message only
		w.t.Fatalf("no stream: HTTP %d %s", f.resp.StatusCode, body)
	}
	go f.read()
	w.t.Cleanup(f.leave)
	return f
}

func (f *follower) read() {
	defer close(f.done)
	r := ssetest.NewReader(io.TeeReader(f.resp.Body, locked{f}), 2<<20)
	for {
		m, err := r.Next()
		f.mu.Lock()
		f.last, f.err = r.LastID(), err
		if err == nil {
			m.Data = bytes.Clone(m.Data)
			f.all = append(f.all, m)
		}
		f.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// locked keeps what a follower has read.
type locked struct{ f *follower }

func (l locked) Write(b []byte) (int, error) {
	l.f.mu.Lock()
	defer l.f.mu.Unlock()
	return l.f.raw.Write(b)
}

// leave ends the stream from the reader's side.
func (f *follower) leave() {
	f.resp.Body.Close()
	<-f.done
}

// take returns the messages since the last take: "7" for an event, the name and the data of a
// message with a name.
func (f *follower) take() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, m := range f.all {
		if m.Name == "" {
			out = append(out, m.ID)
		} else {
			out = append(out, fmt.Sprintf("%s %s", m.Name, m.Data))
		}
	}
	f.all = nil
	return out
}

// events returns the data of all events since the last take.
func (f *follower) events() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []string
	for _, m := range f.all {
		if m.Name == "" {
			out = append(out, string(m.Data))
		}
	}
	return out
}

// text is everything that came, as it came.
func (f *follower) text() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.raw.String()
}

func (f *follower) lastID() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

// stored returns the stored events of a conversation.
func (w *world) stored(id string) []string {
	w.t.Helper()
	var out []string
	p := w.hub.LocalPrincipal("admin", parley.ScopeAdmin)
	for since := int64(0); ; {
		page, err := w.hub.Tail(w.t.Context(), p, &parley.TailParams{ConversationID: id, SinceSeq: since,
			Limit: parley.MaxPage})
		if err != nil {
			w.t.Fatal(err)
		}
		for _, e := range page.Events {
			out = append(out, string(e))
		}
		if since = page.NextSeq; since == page.LatestSeq {
			return out
		}
	}
}

func unmarshal(t testing.TB, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}
