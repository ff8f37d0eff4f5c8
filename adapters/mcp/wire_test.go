package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley/adapters/mcp"
)

// eras are the revisions that each wire test uses.
var eras = []string{modern, legacy}

// wire is a client that speaks the protocol message by message.
type wire struct {
	t    *testing.T
	era  string
	caps map[string]any
	conn protocol.Connection
	// notes are the received notifications.
	notes chan *jsonrpc.Request
	// listened receives the answer to the last listen, which ends it.
	listened <-chan *jsonrpc.Response
	// offered is the initialize result of the server.
	offered struct{ Capabilities map[string]any }

	mu      sync.Mutex // guards the fields below
	next    int64
	answers map[any]chan *jsonrpc.Response
}

// newWire connects a client of an era to an adapter in memory.
func newWire(t *testing.T, s *mcp.Server, era string, caps map[string]any) *wire {
	t.Helper()
	near, far := protocol.NewInMemoryTransports()
	ctx, cancel := context.WithCancel(context.Background())
	conn, err := near.Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{t: t, era: era, caps: caps, conn: conn, notes: make(chan *jsonrpc.Request, 1000),
		answers: map[any]chan *jsonrpc.Response{}}
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Run(ctx, far) })
	wg.Go(w.read)
	t.Cleanup(func() {
		w.close()
		cancel()
		wg.Wait()
	})
	if era < modern {
		w.must("initialize", map[string]any{"protocolVersion": era, "capabilities": caps,
			"clientInfo": map[string]any{"name": "wire", "version": "1"}}, &w.offered)
		w.notify("notifications/initialized", map[string]any{})
	}
	return w
}

func (w *wire) close() { _ = w.conn.Close() }

func (w *wire) read() {
	for {
		m, err := w.conn.Read(context.Background())
		if err != nil {
			return
		}
		switch m := m.(type) {
		case *jsonrpc.Request:
			w.notes <- m
		case *jsonrpc.Response:
			w.mu.Lock()
			c := w.answers[m.ID.Raw()]
			w.mu.Unlock()
			c <- m
		}
	}
}

// send sends a request.
func (w *wire) send(method string, params map[string]any) (id int64, answer <-chan *jsonrpc.Response) {
	w.t.Helper()
	c := make(chan *jsonrpc.Response, 1)
	w.mu.Lock()
	w.next++
	id = w.next
	w.answers[id] = c
	w.mu.Unlock()
	full := maps.Clone(params)
	if w.era >= modern {
		full["_meta"] = map[string]any{
			"io.modelcontextprotocol/protocolVersion": w.era, "io.modelcontextprotocol/clientCapabilities": w.caps,
			"io.modelcontextprotocol/clientInfo": map[string]any{"name": "wire", "version": "1"},
		}
	}
	rid, err := jsonrpc.MakeID(float64(id))
	if err != nil {
		w.t.Fatal(err)
	}
	w.write(&jsonrpc.Request{ID: rid, Method: method, Params: raw(w.t, full)})
	return id, c
}

func (w *wire) notify(method string, params map[string]any) {
	w.t.Helper()
	w.write(&jsonrpc.Request{Method: method, Params: raw(w.t, params)})
}

func (w *wire) write(m jsonrpc.Message) {
	w.t.Helper()
	if err := w.conn.Write(context.Background(), m); err != nil {
		w.t.Fatal(err)
	}
}

func raw(t *testing.T, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// call sends a request and waits for its answer.
func (w *wire) call(method string, params map[string]any) (json.RawMessage, *jsonrpc.Error) {
	w.t.Helper()
	_, answer := w.send(method, params)
	select {
	case r := <-answer:
		return r.Result, fail(r)
	case <-time.After(patience):
		w.t.Fatalf("%s: no answer", method)
	}
	return nil, nil
}

func fail(r *jsonrpc.Response) *jsonrpc.Error {
	var e *jsonrpc.Error
	if r.Error != nil && !errors.As(r.Error, &e) {
		e = &jsonrpc.Error{Message: r.Error.Error()}
	}
	return e
}

// must is call for requests that must succeed.
func (w *wire) must(method string, params map[string]any, into any) {
	w.t.Helper()
	got, e := w.call(method, params)
	if e != nil {
		w.t.Fatalf("%s %v: %d %s", method, params, e.Code, e.Message)
	}
	if into == nil {
		return
	}
	if err := json.Unmarshal(got, into); err != nil {
		w.t.Fatalf("%s: %v in %s", method, err, got)
	}
}

// subscribe subscribes to resources in the way of the era, and returns the function that ends it.
func (w *wire) subscribe(uris ...string) (end func(), failed *jsonrpc.Error) {
	w.t.Helper()
	if w.era >= modern {
		return w.listen(uris...)
	}
	for _, uri := range uris {
		if _, e := w.call("resources/subscribe", map[string]any{"uri": uri}); e != nil {
			return nil, e
		}
	}
	return func() {
		for _, uri := range uris {
			w.must("resources/unsubscribe", map[string]any{"uri": uri}, nil)
		}
	}, nil
}

func (w *wire) listen(uris ...string) (end func(), failed *jsonrpc.Error) {
	w.t.Helper()
	id, answer := w.send("subscriptions/listen",
		map[string]any{"notifications": map[string]any{"resourceSubscriptions": uris}})
	w.listened = answer
	select {
	case n := <-w.notes:
		if n.Method != "notifications/subscriptions/acknowledged" {
			w.t.Fatalf("%s before the acknowledgement", n.Method)
		}
	case r := <-answer:
		return nil, fail(r)
	case <-time.After(patience):
		w.t.Fatal("the listen is not answered")
	}
	return func() {
		w.notify("notifications/cancelled", map[string]any{"requestId": id})
		<-answer
	}, nil
}

// nextUpdate waits for a notification and returns its URI.
func (w *wire) nextUpdate() string {
	w.t.Helper()
	select {
	case n := <-w.notes:
		return uriOf(w.t, n)
	case <-time.After(patience):
		w.t.Fatal("no notification")
	}
	return ""
}

func uriOf(t *testing.T, n *jsonrpc.Request) string {
	t.Helper()
	var p struct{ URI string }
	if err := json.Unmarshal(n.Params, &p); err != nil || n.Method != "notifications/resources/updated" {
		t.Fatalf("%s %s, %v", n.Method, n.Params, err)
	}
	return p.URI
}
