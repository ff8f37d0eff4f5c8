package a2a_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	proto "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/executors/a2a"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// dialects are the protocols of a peer.
var dialects = []struct {
	name    string
	binding proto.TransportProtocol
	version proto.ProtocolVersion
	handler func(a2asrv.RequestHandler) http.Handler
}{
	{"1.0 JSON-RPC", proto.TransportProtocolJSONRPC, "1.0",
		func(h a2asrv.RequestHandler) http.Handler { return a2asrv.NewJSONRPCHandler(h) }},
	{"1.0 REST", proto.TransportProtocolHTTPJSON, "1.0",
		func(h a2asrv.RequestHandler) http.Handler { return a2asrv.NewRESTHandler(h) }},
	{"0.3 JSON-RPC", proto.TransportProtocolJSONRPC, "0.3.0",
		func(h a2asrv.RequestHandler) http.Handler { return a2av0.NewJSONRPCHandler(h) }},
	{"0.3 REST", proto.TransportProtocolHTTPJSON, "0.3.0",
		func(h a2asrv.RequestHandler) http.Handler { return a2av0.NewRESTHandler(h) }},
}

// remote is a peer: a server of the library with a scripted agent.
type remote struct {
	*httptest.Server
	card *proto.AgentCard
	// around wraps every request.
	around func(http.ResponseWriter, *http.Request, http.Handler)

	mu       sync.Mutex // guards the fields below
	got      []*proto.Message
	canceled []proto.TaskID
	gone     chan struct{} // closed once, to end all waits
	headers  []http.Header
	release  sync.Once
}

func newRemote(t *testing.T, dialect int, streaming bool) *remote {
	t.Helper()
	d := dialects[dialect]
	r := &remote{gone: make(chan struct{})}
	h := d.handler(a2asrv.NewHandler(r))
	mux := http.NewServeMux()
	mux.HandleFunc("/.well-known/agent-card.json", func(w http.ResponseWriter, q *http.Request) {
		_ = json.NewEncoder(w).Encode(r.card)
	})
	mux.Handle("/", h)
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		r.mu.Lock()
		r.headers = append(r.headers, q.Header.Clone())
		r.mu.Unlock()
		if r.around != nil && !strings.Contains(q.URL.Path, "well-known") {
			r.around(w, q, mux)
			return
		}
		mux.ServeHTTP(w, q)
	}))
	r.card = &proto.AgentCard{
		Name: "remote", Description: "a scripted agent", Version: "1", DefaultInputModes: []string{"text/plain"},
		DefaultOutputModes: []string{"text/plain"},
		Capabilities:       proto.AgentCapabilities{Streaming: streaming}, Skills: []proto.AgentSkill{},
		SupportedInterfaces: []*proto.AgentInterface{{URL: r.URL, ProtocolBinding: d.binding, ProtocolVersion: d.version}},
	}
	t.Cleanup(func() {
		r.release.Do(func() { close(r.gone) })
		r.CloseClientConnections()
		r.Close()
	})
	return r
}

// Execute plays the last text of the message.
func (r *remote) Execute(ctx context.Context, x *a2asrv.ExecutorContext) iter.Seq2[proto.Event, error] {
	r.mu.Lock()
	r.got = append(r.got, x.Message)
	r.mu.Unlock()
	word := ""
	for _, p := range x.Message.Parts {
		if text, ok := p.Content.(proto.Text); ok {
			word = string(text)
		}
	}
	if i := strings.LastIndex(word, ": "); i >= 0 {
		word = word[i+2:]
	}
	if x.StoredTask != nil {
		word = "reply " + word
	}
	return func(yield func(proto.Event, error) bool) { r.play(ctx, x, word, yield) }
}

func agentSays(parts ...*proto.Part) *proto.Message {
	return proto.NewMessage(proto.MessageRoleAgent, parts...)
}

func text(s string) *proto.Part { return proto.NewTextPart(s) }

func (r *remote) play(ctx context.Context, x *a2asrv.ExecutorContext, word string,
	yield func(proto.Event, error) bool) {
	status := func(s proto.TaskState, parts ...*proto.Part) bool {
		var m *proto.Message
		if len(parts) > 0 {
			m = proto.NewMessageForTask(proto.MessageRoleAgent, x, parts...)
		}
		return yield(proto.NewStatusUpdateEvent(x, s, m), nil)
	}
	if word == "plain" {
		yield(agentSays(text("no task for that")), nil)
		return
	}
	if x.StoredTask == nil && !yield(proto.NewSubmittedTask(x, x.Message), nil) {
		return
	}
	if !status(proto.TaskStateWorking, text("looking at "+word)) {
		return
	}
	switch word {
	case "ask":
		status(proto.TaskStateInputRequired, text("which one?"))
	case "auth":
		status(proto.TaskStateAuthRequired, text("log in at https://login.example"))
	case "fail":
		status(proto.TaskStateFailed, text("it is broken"))
	case "reject":
		status(proto.TaskStateRejected, text("not for me"))
	case "silence":
		status(proto.TaskStateCompleted)
	case "file":
		a := proto.NewArtifactEvent(x, proto.NewRawPart([]byte{0, 1, 2, 255}), proto.NewDataPart(map[string]any{"n": 1.0}),
			proto.NewFileURLPart("https://files.example/a", "text/html"))
		a.Artifact.Parts[0].Filename, a.Artifact.Parts[0].MediaType = "four.bin", "application/octet-stream"
		yield(a, nil)
		status(proto.TaskStateCompleted, text("here it is"))
	case "never":
		select {
		case <-ctx.Done():
		case <-r.gone:
		}
	case "slow":
		select {
		case <-ctx.Done():
		case <-r.gone:
			a := proto.NewArtifactEvent(x, text("after a while"))
			yield(a, nil)
			status(proto.TaskStateCompleted)
		}
	default:
		a := proto.NewArtifactEvent(x, text("the answer"))
		if !yield(a, nil) {
			return
		}
		for i, piece := range []string{" to ", word} {
			u := proto.NewArtifactUpdateEvent(x, a.Artifact.ID, text(piece))
			u.LastChunk = i == 1
			if !yield(u, nil) {
				return
			}
		}
		status(proto.TaskStateCompleted, text("the answer to "+word))
	}
}

// Cancel cancels the task.
func (r *remote) Cancel(_ context.Context, x *a2asrv.ExecutorContext) iter.Seq2[proto.Event, error] {
	return func(yield func(proto.Event, error) bool) {
		r.mu.Lock()
		r.canceled = append(r.canceled, x.TaskID)
		r.mu.Unlock()
		yield(proto.NewStatusUpdateEvent(x, proto.TaskStateCanceled, nil), nil)
	}
}

func (r *remote) messages() []*proto.Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

func (r *remote) cancels() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.canceled)
}

// world is a hub with a conversation of ann and bot, whose turns the remote agent takes.
type world struct {
	hub   *sdktest.Hub
	ann   parley.Client
	id    string
	agent *a2a.Agent
}

// newWorldHub returns a world without an executor.
func newWorldHub(t *testing.T, others ...string) *world {
	t.Helper()
	w := &world{hub: sdktest.NewHub(t)}
	w.id = w.hub.Create(t, append(append([]string{"ann"}, others...), "bot")...)
	w.ann = w.hub.Client(t, "ann")
	return w
}

func newWorld(t *testing.T, o *a2a.Options, others ...string) *world {
	t.Helper()
	w := newWorldHub(t, others...)
	w.agent = newAgent(t, o)
	w.run(t, w.agent, nil)
	return w
}

func newAgent(t *testing.T, o *a2a.Options) *a2a.Agent {
	t.Helper()
	d := *o
	if d.HTTP == nil {
		d.HTTP = http.DefaultClient
	}
	d.MinPoll, d.MaxPoll = 5*time.Millisecond, 50*time.Millisecond
	a, err := a2a.New(&d)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// run starts an executor, and returns a function that stops it.
func (w *world) run(t *testing.T, a *a2a.Agent, o *executors.Options) (stop func()) {
	t.Helper()
	if o == nil {
		o = &executors.Options{Drain: -1, Grace: a2a.AbandonWait}
	}
	ctx, cancel := context.WithCancel(t.Context())
	client := w.hub.Client(t, "bot")
	var done sync.WaitGroup
	done.Go(func() {
		if err := executors.Run(ctx, client, a, o); err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	done.Go(func() { a.Follow(ctx, client) })
	stop = func() { cancel(); done.Wait() }
	t.Cleanup(stop)
	return stop
}

// say posts a message of ann.
func (w *world) say(t *testing.T, payload string) int64 {
	t.Helper()
	if !strings.HasPrefix(payload, "{") {
		payload = fmt.Sprintf(`{"text":%q}`, payload)
	}
	r, err := w.ann.SendMessage(t.Context(),
		&parley.SendMessageParams{ConversationID: w.id, Payload: json.RawMessage(payload), Finality: parley.FinalityTurn})
	if err != nil {
		t.Fatal(err)
	}
	return r.Seq
}

// payload has the members that the tests check.
type payload struct {
	Text        string              `json:"text"`
	Data        json.RawMessage     `json:"data"`
	Tags        []string            `json:"tags"`
	Attachments []parley.Attachment `json:"attachments"`
	A2A         struct {
		ContextID, TaskID, State string
	} `json:"a2a"`
}

// patience is how long a test waits for an event that must happen.
const patience = 3 * time.Minute

// answer waits for the final message of bot after seq.
func (w *world) answer(t *testing.T, since int64) payload {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for e, err := range w.ann.Events(ctx, w.id, since) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == parley.TypeMessage && e.From == "bot" && e.Finality.Final() {
			var p payload
			if err := json.Unmarshal(e.Payload, &p); err != nil {
				t.Fatal(err)
			}
			return p
		}
	}
	t.Fatal("no answer")
	return payload{}
}

// until waits for a condition that ann cannot observe.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatalf("never: %s", what)
		}
	}
}

// traces returns the traces of bot.
func (w *world) traces(t *testing.T) []parley.Trace {
	t.Helper()
	r, err := w.hub.Client(t, "bot").Tail(t.Context(), &parley.TailParams{ConversationID: w.id, Limit: parley.MaxPage})
	if err != nil {
		t.Fatal(err)
	}
	var all []parley.Trace
	for _, e := range r.Events {
		var tr parley.Trace
		if e.Type == parley.TypeTrace && json.Unmarshal(e.Payload, &tr) == nil {
			all = append(all, tr)
		}
	}
	return all
}
