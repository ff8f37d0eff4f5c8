package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/rpc"
)

// converse makes a conversation of agents.
func (h *mcpTestHub) converse(agents ...string) string {
	h.t.Helper()
	p := &parley.CreateConversationParams{}
	for _, agent := range agents {
		p.Participants = append(p.Participants, parley.Participant{ID: agent, Kind: parley.KindHuman})
	}
	made, err := h.client("plt_root_of_this_test", agents[0]).CreateConversation(h.t.Context(), p)
	if err != nil {
		h.t.Fatal(err)
	}
	return made.ConversationID
}

// call posts a call of a tool in a session of the earlier version, and returns the answer
// unchanged.
func (h *mcpTestHub) call(ctx context.Context, token, session, name, args string, id int, header ...string) (string,
	error) {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, name,
		args)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.http+mcpPath, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Mcp-Session-Id", session)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	return string(got), err
}

// TestMCPCallsThatWereHungUp: a call of a session ends with its request.
func TestMCPCallsThatWereHungUp(t *testing.T) {
	t.Parallel()
	h := newMCPTestHub(t)
	secret, _ := h.token("alice", nil)
	session := h.session(secret, "2025-11-25").ID()
	args := fmt.Sprintf(`{"conversation_id":%q,"until":"closed","wait_seconds":3600}`, h.converse("alice"))
	const rounds, waits = 3, 100
	for round := range rounds {
		ctx, hangUp := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		for n := range waits {
			calls.Go(func() {
				if text, err := h.call(ctx, secret, session, "wait_for_updates", args, 1000+round*waits+n); err == nil {
					t.Errorf("a wait that was hung up was answered: %s", text)
				}
			})
		}
		h.awaitCalls(waits)
		hangUp()
		calls.Wait()
		h.awaitNoCalls()
	}
}

// TestCallsOfOneAreBounded: those with one token as one participant, wherever they come from;
// others go on.
func TestCallsOfOneAreBounded(t *testing.T) {
	t.Parallel()
	h := newMCPTestHub(t)
	const root = "plt_root_of_this_test"
	ctxFrom := func(n byte) context.Context {
		return rpc.WithCaller(t.Context(), rpc.Caller{From: netip.AddrFrom4([4]byte{203, 0, 113, n})})
	}
	var releases []func()
	for n := range maxPooledCalls {
		_, release, err := h.door.callerPool.connect(ctxFrom(byte(n%2)), root, "ann")
		if err != nil {
			t.Fatalf("call %d: %v", n, err)
		}
		releases = append(releases, release)
	}
	for n := range byte(3) {
		if _, _, err := h.door.callerPool.connect(ctxFrom(n), root, "ann"); !errors.Is(err, parley.ErrRateLimited) {
			t.Errorf("one more from address %d: %v", n, err)
		}
	}
	_, release, err := h.door.callerPool.connect(ctxFrom(0), root, "bob")
	if err != nil {
		t.Fatalf("another: %v", err)
	}
	release()
	releases[0]()
	releases[0]() // it is given back once
	if _, releases[0], err = h.door.callerPool.connect(ctxFrom(2), root, "ann"); err != nil {
		t.Errorf("after one was given back: %v", err)
	}
	for _, release := range releases {
		release()
	}
	if n := len(h.door.calls); n != 0 {
		t.Errorf("%d are remembered who have no calls", n)
	}
}

// TestCallersOfAHubElsewhere: callers reach a hub by its address too, each with its own token.
func TestCallersOfAHubElsewhere(t *testing.T) {
	t.Parallel()
	h := newMCPTestHub(t)
	secret, _ := h.token("alice", nil)
	c := newCallerPool(&callerPoolOptions{ClientName: "test", URL: h.s.URL})
	alice, release, err := c.connect(t.Context(), secret, "")
	if err != nil || alice.AgentID() != "alice" {
		t.Fatalf("%v", err)
	}
	if err := ping(alice); err != nil {
		t.Error(err)
	}
	release()
	for _, token := range []string{"", "plt_wrong"} {
		if _, _, err := c.connect(t.Context(), token, ""); !errors.Is(err, parley.ErrUnauthenticated) {
			t.Errorf("token %q: %v", token, err)
		}
	}
	if err := errors.Join(c.stop(), c.close()); err != nil {
		t.Error(err)
	}
	if _, _, err := c.connect(t.Context(), secret, ""); !errors.Is(err, parley.ErrUnavailable) {
		t.Errorf("after the end: %v", err)
	}
}

// lines is a log that is read while it is written.
type lines struct {
	mu   sync.Mutex // guards the field below
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) with(words ...string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
next:
	for line := range strings.Lines(l.text.String()) {
		for _, word := range words {
			if !strings.Contains(line, word) {
				continue next
			}
		}
		n++
	}
	return n
}

// TestMCPCallersInTheAudit: the audit log says where a caller over MCP is, for each request of a
// session.
func TestMCPCallersInTheAudit(t *testing.T) {
	t.Parallel()
	var audit lines
	h := newMCPTestHubWith(t, func(o *Options) {
		o.door.Audit = slog.New(slog.NewTextHandler(&audit, nil))
		o.door.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	})
	secret, _ := h.token("alice", nil)
	session := h.session(secret, "2025-11-25").ID()
	for i, from := range []string{"203.0.113.7", "203.0.113.8"} {
		if text, err := h.call(t.Context(), secret, session, "list_conversations", `{}`, 100+i, "X-Forwarded-For",
			from); err != nil || strings.Contains(text, `"isError":true`) {
			t.Fatalf("%s, %v", text, err)
		}
		if n := audit.with("event=authenticated", "agent=alice", "method=authenticate", "remote="+from); n != 1 {
			t.Errorf("%d lines about a client for %s", n, from)
		}
	}
	if n := audit.with("agent=alice", "method=authenticate", "remote=127.0.0.1"); n != 0 {
		t.Errorf("%d lines about a client for this machine", n)
	}
}

// toldJournal reports each submission.
type toldJournal struct {
	*memory.Journal
	submitted chan struct{}
}

func (j *toldJournal) Submit(b journal.Batch) {
	b = b.Sealed()
	j.Journal.Submit(b)
	select {
	case j.submitted <- struct{}{}:
	default:
	}
}

// TestMCPWritesWhenTheHubStops: a write that has reached the hub when it stops is answered; a wait
// beside it ends.
func TestMCPWritesWhenTheHubStops(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			j := &toldJournal{memory.New(), make(chan struct{}, 1)}
			h := newMCPTestHubWith(t, func(o *Options) { o.Journal = j })
			secret, _ := h.token("alice", nil)
			alice, id := h.session(secret, version), h.converse("alice", "bob")
			type answer struct {
				text    string
				refused bool
				err     error
			}
			call := func(name string, args map[string]any) chan answer {
				c := make(chan answer, 1)
				go func() {
					var a answer
					if version >= "2026-07-28" {
						a.text, a.refused, a.err = clitest.CallTool(t.Context(), alice, name, args)
					} else { // not by the client of the library, which takes the end of the session's stream for that of all
						raw, _ := json.Marshal(args)
						a.text, a.err = h.call(t.Context(), secret, alice.ID(), name, string(raw), 100+len(name))
					}
					c <- a
				}()
				return c
			}
			waited := call("wait_for_updates",
				map[string]any{"conversation_id": id, "until": "closed", "wait_seconds": longWait})
			h.awaitCalls(1)
			j.Hold()
			for len(j.submitted) > 0 {
				<-j.submitted
			}
			posted := call("post_message", map[string]any{"conversation_id": id, "since_seq": 1, "text": "last words"})
			<-j.submitted
			closed := make(chan error, 1)
			go func() { closed <- h.close() }()
			for end := time.Now().Add(clitest.Patience); !h.door.stopped(); time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatal("the door is not stopped")
				}
			}
			j.Release()
			if a := <-posted; a.err != nil || a.refused || !strings.Contains(a.text, "Posted as #2") {
				t.Errorf("post_message: %q, %v", a.text, a.err)
			}
			<-waited
			if err := <-closed; err != nil { // also if the drain took too long
				t.Errorf("stopped: %v", err)
			}
		})
	}
}

// stopped reports whether stop was called.
func (c *callerPool) stopped() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}
