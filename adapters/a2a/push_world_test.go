package a2a

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// pushWorld is a hub with an adapter that delivers push notifications. bob answers on demand.
type pushWorld struct {
	t       *testing.T
	hub     *sdktest.Hub
	store   parley.Client
	clients map[string]parley.Client
	claims  map[string]string // of bob, by conversation
	logged  *logged
	key     []byte
	change  func(*PushOptions, *pace)

	server *Server
	push   *Push
	stop   func()
}

// logged collects the log.
type logged struct {
	mu sync.Mutex // guards the field below
	b  bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func newPushWorld(t *testing.T, change func(*PushOptions, *pace)) *pushWorld {
	t.Helper()
	h := sdktest.NewHub(t)
	w := &pushWorld{t: t, hub: h, store: h.Admin(t), clients: map[string]parley.Client{}, claims: map[string]string{},
		logged: &logged{}, key: bytes.Repeat([]byte{7}, 32), change: change}
	for _, who := range []string{"alice", "carol", "bob"} {
		w.clients[who] = h.Client(t, who)
	}
	w.start()
	t.Cleanup(func() { w.stop() })
	return w
}

// start starts the adapter, and stop ends it.
func (w *pushWorld) start() {
	w.t.Helper()
	log := slog.New(slog.NewTextHandler(w.logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	o := &PushOptions{
		Store: w.store, Key: w.key, AllowHTTP: true, AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Logger: log,
		As: func(_ context.Context, who string) (parley.Client, func(), error) {
			return w.clients[who], func() {}, nil
		},
	}
	if w.change != nil {
		w.change(o, &pace{})
	}
	var err error
	if w.push, err = NewPush(w.t.Context(), o); err != nil {
		w.t.Fatal(err)
	}
	p := &w.push.pace
	p.first, p.longest, p.flush, p.timeout = time.Millisecond, 20*time.Millisecond, 5*time.Millisecond, 20*time.Second
	if w.change != nil {
		w.change(&PushOptions{}, p)
	}
	w.server, err = New(&Options{
		Connect: func(*http.Request) (parley.Client, func(), error) { return w.clients["alice"], func() {}, nil },
		Agents:  []Agent{{Name: "bob", Speaks: "bob"}, {Name: "other", Speaks: "other"}}, Push: w.push, Logger: log,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(w.t.Context())
	done := make(chan error, 1)
	push := w.push
	go func() { done <- push.Run(ctx) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("Run: %v", err)
		}
	})
}

func (w *pushWorld) caller(who string) *caller {
	return &caller{client: w.clients[who], agent: w.server.agent("bob")}
}

// begin posts a message of a caller, with or without a configuration, and returns its task.
func (w *pushWorld) begin(who, messageID string, push *a2a.PushConfig) *a2a.Task {
	w.t.Helper()
	return w.beginAs(w.caller(who), messageID, push)
}

func (w *pushWorld) beginAs(c *caller, messageID string, push *a2a.PushConfig) *a2a.Task {
	w.t.Helper()
	m := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("hello"))
	m.ID = messageID
	r, err := w.server.send(w.t.Context(), c, &a2a.SendMessageRequest{Message: m,
		Config: &a2a.SendMessageConfig{ReturnImmediately: true, PushConfig: push}})
	if err != nil {
		w.t.Fatal(err)
	}
	return r.(*a2a.Task)
}

// says posts a message of bob.
func (w *pushWorld) says(task *a2a.Task, text string, f parley.Finality, tags ...string) {
	w.t.Helper()
	raw, err := json.Marshal(parley.Message{Text: text, Tags: tags})
	if err != nil {
		w.t.Fatal(err)
	}
	id := conversationOf(task)
	r, err := w.clients["bob"].SendMessage(w.t.Context(), &parley.SendMessageParams{ConversationID: id, Payload: raw,
		Finality: f, ClaimID: w.claims[id], ClientRequestID: text})
	if err != nil {
		w.t.Fatal(err)
	}
	switch {
	case f != parley.FinalityNone:
		delete(w.claims, id)
	case r.ClaimID != "":
		w.claims[id] = r.ClaimID
	}
}

func conversationOf(task *a2a.Task) string {
	id := string(task.ID)
	return id[:strings.LastIndexByte(id, '.')]
}

// streamed returns the events of a stream of an ended task from its beginning, as JSON.
func (w *pushWorld) streamed(who string, task *a2a.Task) (out []string) {
	w.t.Helper()
	id := string(task.ID)
	cursor := id[strings.LastIndexByte(id, '.')+1:]
	for u, err := range w.server.subscribe(w.t.Context(), w.caller(who), &a2a.SubscribeToTaskRequest{ID: task.ID},
		cursor) {
		if err != nil {
			w.t.Fatal(err)
		}
		raw, err := json.Marshal(a2a.StreamResponse{Event: u.event})
		if err != nil {
			w.t.Fatal(err)
		}
		out = append(out, string(raw))
	}
	return out
}

// notes returns the bytes of the store, and the number of notes by kind.
func (w *pushWorld) notes() (raw string, kinds map[string]int) {
	w.t.Helper()
	kinds = map[string]int{}
	for n := int64(1); ; n++ {
		id := storeID(n)
		for since := int64(0); ; {
			page, err := w.store.Tail(w.t.Context(), &parley.TailParams{ConversationID: id, SinceSeq: since,
				Limit: parley.MaxPage})
			if errors.Is(err, parley.ErrNotFound) {
				return raw, kinds
			}
			if err != nil {
				w.t.Fatal(err)
			}
			for _, e := range page.Events {
				raw += string(e.Raw()) + "\n"
				if s, err := e.System(); err == nil {
					kinds[s.Schema]++
				}
			}
			if since = page.NextSeq; since >= page.LatestSeq {
				break
			}
		}
	}
}

// ended waits for the end of a configuration, and returns its reason.
func (w *pushWorld) ended(who string, task a2a.TaskID, id string) string {
	w.t.Helper()
	why := ""
	w.until("the configuration ends", func() bool {
		w.push.mu.Lock()
		defer w.push.mu.Unlock()
		for _, c := range w.push.findLocked(who, task, id) {
			why = c.Ended
		}
		return why != ""
	})
	return why
}

// patience is the timeout of tests for an event that must come. Only a program that hangs reaches
// it.
const patience = 3 * time.Minute

// until waits for a condition.
func (w *pushWorld) until(what string, f func() bool) {
	w.t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for !f() {
		select {
		case <-tick.C:
		case <-late:
			w.t.Fatalf("waited too long: %s; the log says\n%s", what, w.logged)
		}
	}
}

// hook is a webhook.
type hook struct {
	*httptest.Server

	mu     sync.Mutex // guards the fields below
	got    []string   // bodies with a successful response
	heads  []http.Header
	tries  int
	answer func(w http.ResponseWriter, r *http.Request, try int) bool // reports whether it has sent another response
}

func newHook(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, try int) bool) *hook {
	h := &hook{answer: answer}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	h.mu.Lock()
	h.tries++
	try, answer := h.tries, h.answer
	h.mu.Unlock()
	if answer != nil && answer(w, r, try) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.got, h.heads = append(h.got, string(body)), append(h.heads, r.Header.Clone())
}

// let changes the responses.
func (h *hook) let(answer func(w http.ResponseWriter, r *http.Request, try int) bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer = answer
}

func (h *hook) tried() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.tries
}

// all returns the received bodies without repetitions. At least once means that some may be
// repeated, from an older cursor.
func (h *hook) all() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.got)
}

// once removes repetitions.
func once(got []string) (out []string) {
	seen := map[string]bool{}
	for _, s := range got {
		if !seen[s] {
			out = append(out, s)
		}
		seen[s] = true
	}
	return out
}

func same(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.EqualFunc(got, want, jsonEqual) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func jsonEqual(a, b string) bool {
	var x, y map[string]any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	return string(must(json.Marshal(x))) == string(must(json.Marshal(y))) && len(slices.Collect(maps.Keys(x))) > 0
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
