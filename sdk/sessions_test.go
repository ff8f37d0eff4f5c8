package sdk_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/sdk"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// started is a startSession under way.
type started struct {
	session *parley.Session
	err     error
}

func startLater(ctx context.Context, c parley.Client, p parley.StartSessionParams) <-chan started {
	answer := make(chan started, 1)
	go func() {
		s, err := c.StartSession(ctx, &p)
		answer <- started{s, err}
	}()
	return answer
}

func (r *runner) awaitRuns(n int) {
	r.t.Helper()
	deadline := time.Now().Add(patience)
	for r.counted() < n {
		if time.Now().After(deadline) {
			r.t.Fatalf("%d runs, expected %d", r.counted(), n)
		}
		time.Sleep(time.Millisecond)
	}
}

// TestStartSessionOverLostConnections: a sync start finds its session again if its connections are
// cut, its first answer is lost, or its hub is killed. The runner loses its connections too, and
// keeps its claim: there is one run.
func TestStartSessionOverLostConnections(t *testing.T) {
	for name, disturb := range map[string]func(t *testing.T, h *sdktest.Hub, p *proxy){
		"cut":     func(_ *testing.T, h *sdktest.Hub, _ *proxy) { h.CutConnections() },
		"restart": func(t *testing.T, h *sdktest.Hub, _ *proxy) { h.Restart(t) },
		"mute": func(_ *testing.T, _ *sdktest.Hub, p *proxy) {
			p.muteHub() // requests arrive, and answers are lost
			time.AfterFunc(200*time.Millisecond, p.cut)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := sdktest.NewHub(t)
			p := newProxy(t, h.URL)
			release := make(chan struct{})
			r := startRunner(t, h.Dial(t, eager(h.NewToken(t, "host"))), when(t, release, echoed), echo)
			caller := dial(t, p.url, eager(h.NewToken(t, "b")))
			if name == "mute" {
				disturb(t, h, p) // before the start is answered
			}
			answer := startLater(
				t.Context(),
				caller,
				parley.StartSessionParams{AgentName: "echo", Parameters: json.RawMessage(`{"n":1}`)},
			)
			r.awaitRuns(1)
			if name != "mute" {
				for range 3 {
					if _, err := caller.Now(t.Context()); err != nil { // it is back
						t.Fatal(err)
					}
					disturb(t, h, p)
				}
			}
			close(release)
			got := <-answer
			if got.err != nil || got.session.Status != parley.SessionCompleted || got.session.Result == nil ||
				string(got.session.Result.ResultData) != `{"n":1}` {
				t.Errorf("%+v, %v", got.session, got.err)
			}
			if n := r.counted(); n != 1 {
				t.Errorf("%d runs", n)
			}
		})
	}
}

// shared is a client with another id that runs the agent bot in a conversation of others.
func shared(t *testing.T, h *sdktest.Hub) (c *sdk.Client, conversation, claim string) {
	t.Helper()
	made, err := h.Admin(t).CreateToken(t.Context(), &parley.CreateTokenParams{AgentID: "farm", Agents: []string{"bot"}})
	if err != nil {
		t.Fatal(err)
	}
	c = dial(t, h.URL, eager(made.Token))
	held := make(chan string, 1)
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		var holding []string
		p := &parley.RegisterExecutorParams{
			ExecutorID: "farm-1",
			Agents:     []string{"bot"},
			Mode:       parley.ModePush,
			GraceMs:    60_000,
		}
		for n, err := range c.RegisterExecutor(ctx, p, func() []string { return holding }) {
			if ctx.Err() != nil {
				return
			}
			if err != nil {
				t.Errorf("the registration: %v", err)
				return
			}
			if o := n.RequestTurn; o != nil && holding == nil {
				if _, err := c.ClaimTurn(ctx, &parley.ClaimTurnParams{ConversationID: o.ConversationID, ClaimID: o.ClaimID}); err != nil {
					t.Errorf("the claim: %v", err)
				}
				holding = []string{o.ClaimID}
				held <- o.ClaimID
			}
		}
	})
	t.Cleanup(func() {
		cancel()
		wg.Wait()
	})
	s, err := h.Client(t, "ann").CreateConversation(t.Context(), &parley.CreateConversationParams{
		Participants: []parley.Participant{
			{ID: "helper", Kind: parley.KindAgent, Agent: "bot"},
			{ID: "ann", Kind: parley.KindHuman},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	select {
	case claim = <-held:
	case <-time.After(patience):
		t.Fatal("bot is not asked")
	}
	return c, s.ConversationID, claim
}

// TestSharedExecutorKeepsItsSessions: an executor starts sessions as the participant of its claim.
// It continues to wait for them after its connection or the hub was lost, as soon as the hub knows
// again which connection holds the claim.
func TestSharedExecutorKeepsItsSessions(t *testing.T) {
	for name, disturb := range map[string]func(t *testing.T, h *sdktest.Hub){
		"cut":     func(_ *testing.T, h *sdktest.Hub) { h.CutConnections() },
		"restart": func(t *testing.T, h *sdktest.Hub) { h.Restart(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := sdktest.NewHub(t)
			release := make(chan struct{})
			r := startRunner(t, h.Dial(t, eager(h.NewToken(t, "host"))), when(t, release, echoed), echo)
			c, conversation, _ := shared(t, h)
			p := parley.StartSessionParams{AgentName: "echo", ParentConversationID: conversation, ClientRequestID: "k"}
			answer := startLater(t.Context(), c, p)
			r.awaitRuns(1)
			for range 10 {
				disturb(t, h)
				p.TimeoutMs = 1
				again, err := c.StartSession(t.Context(), &p)
				if err != nil || !again.Duplicate || again.CreatedBy != "helper" {
					t.Fatalf("again: %+v, %v", again, err)
				}
				if got, err := c.GetSession(t.Context(), &parley.GetSessionParams{SessionID: again.SessionID}); err != nil ||
					got.Status.Ended() {
					t.Fatalf("read: %+v, %v", got, err)
				}
			}
			close(release)
			if got := <-answer; got.err != nil || got.session.Status != parley.SessionCompleted ||
				got.session.CreatedBy != "helper" {
				t.Errorf("%+v, %v", got.session, got.err)
			}
		})
	}
}

// TestManySessionsOfOneClient: more waits than its first socket has room for, of sessions that are
// there on that socket alone.
func TestManySessionsOfOneClient(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	release := make(chan struct{})
	r := startRunner(t, h.Dial(t, eager(h.NewToken(t, "host"))), when(t, release, echoed), echo)
	c, conversation, claim := shared(t, h)
	const n = 60
	var answers [n]<-chan started
	for i := range answers {
		answers[i] = startLater(
			t.Context(),
			c,
			parley.StartSessionParams{AgentName: "echo", ParentConversationID: conversation},
		)
	}
	r.awaitRuns(n)
	begin := time.Now()
	if _, err := c.RenewClaim(t.Context(), &parley.RenewClaimParams{ConversationID: conversation, ClaimID: claim}); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took >= parley.MaxWaitMs*time.Millisecond { // it waited for one of the waits
		t.Errorf("the claim was renewed after %v", took)
	}
	close(release)
	for i, answer := range answers {
		if got := <-answer; got.err != nil || got.session.Status != parley.SessionCompleted {
			t.Errorf("start %d: %+v, %v", i, got.session, got.err)
		}
	}
}

// TestSessionInTheLoop: a loop over a registration that starts sessions itself waits for itself no
// longer than it must.
func TestSessionInTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newMemoryHub(t, nil)
		startRunner(t, h.dial(t, "root", "host"), echoed, echo)
		c := h.dial(t, "root", "a")
		for n, err := range c.RegisterExecutor(t.Context(), &parley.RegisterExecutorParams{ExecutorID: "x", Agents: []string{"a"}}, nil) {
			if err != nil || n.Registered == nil {
				t.Fatalf("%+v, %v", n, err)
			}
			h.cut() // the loop cannot register again before it continues
			waited := 0
			for range 3 {
				begin := time.Now()
				got, err := c.StartSession(t.Context(), &parley.StartSessionParams{AgentName: "echo"})
				if err != nil || got.Status != parley.SessionCompleted {
					t.Errorf("%+v, %v", got, err)
				}
				if time.Since(begin) >= 5*time.Second {
					waited++
				}
			}
			if waited > 1 {
				t.Errorf("it has waited %d times", waited)
			}
			break
		}
	})
}

// TestBlueprintsGoWithTheirRegistration: registerBlueprints on a lost connection fails, and is not
// repeated on another connection, which may have no registration yet.
func TestBlueprintsGoWithTheirRegistration(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	c := dial(t, h.URL, eager(h.NewToken(t, "host")))
	p := &parley.RegisterBlueprintsParams{Blueprints: []parley.Blueprint{echo}}
	registered := 0
	for n, err := range c.RegisterExecutor(t.Context(), &parley.RegisterExecutorParams{ExecutorID: "x", Agents: []string{}, GraceMs: 60_000}, nil) {
		if err != nil || n.Registered == nil {
			t.Fatalf("%+v, %v", n, err)
		}
		registered++
		if registered == 1 {
			h.Restart(t)
			if _, err := c.Now(t.Context()); err != nil { // it is back
				t.Fatal(err)
			}
			if _, err := c.RegisterBlueprints(t.Context(), p); !errors.Is(err, parley.ErrOutcomeUnknown) {
				t.Errorf("on the lost connection: %v", err)
			}
			continue
		}
		if _, err := c.RegisterBlueprints(t.Context(), p); err != nil {
			t.Errorf("on the next one: %v", err)
		}
		break
	}
	if registered != 2 {
		t.Errorf("registered %d times", registered)
	}
	if _, err := c.RegisterBlueprints(t.Context(), p); !errors.Is(err, parley.ErrValidationFailed) {
		t.Errorf("after the loop: %v", err)
	}
}
