package rpc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/journaltest"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/hub/vector"
	"github.com/parleyhub/parley/internal/memnet"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/wire"
	"github.com/parleyhub/parley/rpc"
)

// devToken is the root token of every hub in these tests.
const devToken = "dev"

// builtFrom is the commit of every hub in these tests.
const builtFrom = "8526c7012345678901234567890123456789abcd"

// world is a hub behind its door: a real hub, a real server, real WebSockets, in memory or on the
// loopback interface.
type world struct {
	t       testing.TB
	opts    *rpc.Options
	tcp     bool
	journal *memory.Journal
	wrap    func(journal.Journal) journal.Journal // what the hub sees of journal; nil: journal itself
	embeds  vector.Embedder                       // nil: the hub's own
	peers   hub.Peers                             // nil: the hub is alone
	hub     *hub.Hub
	server  *rpc.Server

	http      *http.Server
	serving   chan struct{}
	transport *http.Transport
	addr      string

	first int // ids and secrets count from the number after this one

	mu      sync.Mutex // guards the fields below
	ids     map[string]int
	secrets int
}

// newWorld starts a world that ends, and whose log is checked, with the test.
func newWorld(t testing.TB, o *rpc.Options) *world {
	t.Helper()
	w := &world{t: t, opts: o, journal: memory.New(), ids: map[string]int{}}
	w.start()
	t.Cleanup(w.end)
	return w
}

// newLoopbackWorld is newWorld on a TCP port.
func newLoopbackWorld(t testing.TB, o *rpc.Options) *world {
	t.Helper()
	w := &world{t: t, opts: o, tcp: true, journal: memory.New(), ids: map[string]int{}}
	w.start()
	t.Cleanup(w.end)
	return w
}

func (w *world) start() {
	w.t.Helper()
	var err error
	var j journal.Journal = w.journal
	if w.wrap != nil {
		j = w.wrap(j)
	}
	var tracer parley.Tracer
	if w.opts != nil {
		tracer = w.opts.Tracer
	}
	w.hub, err = hub.Open(j, &hub.Options{
		Version: "0.1.0", Commit: builtFrom, Date: time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC),
		RootToken: devToken, Tracer: tracer, Embedder: w.embeds, Peers: w.peers,
		NewID: func(prefix string) string {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.ids[prefix]++
			return fmt.Sprintf("%s%d", prefix, w.first+w.ids[prefix])
		},
		NewSecret: func() string {
			w.secrets++
			return fmt.Sprintf("secret%d", w.first+w.secrets)
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.server = rpc.NewServer(w.hub, w.opts)
	w.http = &http.Server{Handler: w.server}
	w.serving = make(chan struct{})
	listener := w.listen()
	go func() {
		defer close(w.serving)
		_ = w.http.Serve(listener) // http.ErrServerClosed
	}()
}

func (w *world) listen() net.Listener {
	if !w.tcp {
		l := memnet.Listen()
		w.addr = "127.0.0.1"
		w.transport = &http.Transport{DialContext: l.DialContext}
		return l
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	w.addr = l.Addr().String()
	w.transport = &http.Transport{}
	return l
}

// patience is how long a test waits for an event that must come. Only a program that hangs takes
// that long.
const patience = 3 * time.Minute

// stop ends everything but the journal.
func (w *world) stop() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := w.server.Shutdown(ctx); err != nil {
		w.t.Errorf("shut down the server: %v", err)
	}
	w.transport.CloseIdleConnections()
	if err := w.http.Shutdown(ctx); err != nil {
		w.t.Errorf("shut down HTTP: %v", err)
	}
	<-w.serving
	if err := w.hub.Close(); err != nil {
		w.t.Errorf("close the hub: %v", err)
	}
}

func (w *world) end() {
	w.stop()
	journaltest.CheckInvariants(w.t, w.journal)
	if err := w.journal.Close(); err != nil {
		w.t.Error(err)
	}
}

// restart ends the hub and starts it again on the same log.
func (w *world) restart() {
	w.t.Helper()
	w.stop()
	w.journal = w.journal.Crash()
	w.start()
}

func (w *world) url() string { return "http://" + w.addr + "/rpc" }

func (w *world) client() *http.Client { return &http.Client{Transport: w.transport} }

// peer is a client that collects every frame it gets.
type peer struct {
	t      testing.TB
	name   string
	stream *wire.Stream
	done   chan struct{} // closed when the read ended

	mu     sync.Mutex // guards the fields below
	frames []string
	more   chan struct{} // closed and replaced with every frame
	code   int           // the close code, when the read ended
	calls  int
}

// dial connects without a token.
func (w *world) dial(name string, header http.Header) *peer {
	w.t.Helper()
	stream, err := wire.DialStream(context.Background(), w.url(),
		&wire.DialOptions{HTTPClient: w.client(), Header: header})
	if err != nil {
		w.t.Fatalf("dial: %v", err)
	}
	p := &peer{t: w.t, name: name, stream: stream, done: make(chan struct{}), more: make(chan struct{})}
	go p.read()
	w.t.Cleanup(p.close)
	return p
}

// as connects and speaks as an id with the root token.
func (w *world) as(id string) *peer {
	w.t.Helper()
	p := w.dial(id, nil)
	p.must(methods.Authenticate, fmt.Sprintf(`{"token":%q,"agentId":%q}`, devToken, id))
	return p
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

// with connects with a token.
func (w *world) with(token string) *peer {
	w.t.Helper()
	return w.dial("", bearer(token))
}

func (p *peer) read() {
	defer close(p.done)
	for {
		frame, err := p.stream.ReadFrame(nil)
		p.mu.Lock()
		if err == nil {
			p.frames = append(p.frames, string(frame))
		} else {
			p.code = wire.CloseCode(err)
		}
		close(p.more)
		p.more = make(chan struct{})
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (p *peer) close() {
	_ = p.stream.Close()
	<-p.done
}

func (p *peer) send(frame string) {
	p.t.Helper()
	if err := p.stream.WriteFrame([]byte(frame)); err != nil {
		p.t.Errorf("send: %v", err)
	}
}

// take returns the frames since the last take.
func (p *peer) take() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := p.frames
	p.frames = nil
	return f
}

// find waits for the first frame that matches and takes it out.
func (p *peer) find(what string, match func(frame string) bool) string {
	p.t.Helper()
	deadline := time.After(patience)
	for {
		frame, ok, more := p.look(match)
		if ok {
			return frame
		}
		select {
		case <-more:
		case <-p.done:
			if frame, ok, _ := p.look(match); ok {
				return frame
			}
			p.t.Fatalf("the socket ended (close code %d) before %s came", p.closeCode(), what)
		case <-deadline:
			p.t.Fatalf("%s did not come", what)
		}
	}
}

func (p *peer) look(match func(string) bool) (string, bool, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, f := range p.frames {
		if match(f) {
			p.frames = append(p.frames[:i:i], p.frames[i+1:]...)
			return f, true, nil
		}
	}
	return "", false, p.more
}

func (p *peer) closeCode() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.code
}

// reply waits for the reply with an id, as written.
func (p *peer) reply(id string) string {
	p.t.Helper()
	return p.find("the reply to "+id, func(f string) bool { return strings.HasPrefix(f, `{"jsonrpc":"2.0","id":`+id+",") })
}

// call sends a request and returns its reply.
func (p *peer) call(method, params string) string {
	p.t.Helper()
	id := p.start(method, params)
	return p.reply(id)
}

// start sends a request and returns its id.
func (p *peer) start(method, params string) string {
	p.t.Helper()
	p.calls++
	id := fmt.Sprintf(`"c%d"`, p.calls)
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params))
	return id
}

// must is call for a call that must succeed; it returns the result.
func (p *peer) must(method, params string) json.RawMessage {
	p.t.Helper()
	r := parseReply(p.t, p.call(method, params))
	if r.Error != nil {
		p.t.Fatalf("%s %s: %s: %s", method, params, r.Error.Data.Reason, r.Error.Message)
	}
	return r.Result
}

type reply struct {
	ID     json.RawMessage   `json:"id"`
	Result json.RawMessage   `json:"result"`
	Error  *parley.WireError `json:"error"`
}

func (r reply) reason() string {
	if r.Error == nil {
		return ""
	}
	return r.Error.Data.Reason
}

func parseReply(t testing.TB, frame string) reply {
	t.Helper()
	var r reply
	if err := json.Unmarshal([]byte(frame), &r); err != nil {
		t.Fatalf("reply %q: %v", frame, err)
	}
	return r
}

// post sends a body to POST /rpc.
func (w *world) post(header http.Header, body io.Reader) (int, http.Header, string) {
	w.t.Helper()
	req, err := http.NewRequest(http.MethodPost, w.url(), body)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header = header.Clone()
	if req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
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
	return resp.StatusCode, resp.Header, string(b)
}

// create creates a conversation and returns its id.
func (p *peer) create(params string) string {
	p.t.Helper()
	var s parley.Snapshot
	if err := json.Unmarshal(p.must(methods.CreateConversation, params), &s); err != nil {
		p.t.Fatal(err)
	}
	return s.ConversationID
}

// token creates a token and returns it.
func (p *peer) token(params string) string {
	p.t.Helper()
	var r parley.CreateTokenResult
	if err := json.Unmarshal(p.must(methods.CreateToken, params), &r); err != nil {
		p.t.Fatal(err)
	}
	return r.Token
}
