package hub_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
)

// runner is the connection of an executor.
type runner struct {
	t    testing.TB
	h    *hub.Hub
	conn *hub.Connection
	p    *hub.Principal // on conn

	mu       sync.Mutex // guards the fields below
	offers   []parley.RequestTurn
	ends     []parley.ClaimEndedNotification
	replaced bool
}

func connect(t testing.TB, h *hub.Hub, p *hub.Principal) *runner {
	r := &runner{t: t, h: h}
	r.conn = h.Connect(r.notify, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.replaced = true
	})
	r.p = p.On(r.conn)
	return r
}

func (r *runner) notify(n parley.ExecutorNotification) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case n.RequestTurn != nil:
		r.offers = append(r.offers, *n.RequestTurn)
	case n.ClaimEnded != nil:
		r.ends = append(r.ends, *n.ClaimEnded)
	}
}

func (r *runner) register(q parley.RegisterExecutorParams) (parley.RegisterExecutorResult, error) {
	return one(func(done func(parley.RegisterExecutorResult, error)) { r.h.RegisterExecutor(r.p, &q, done) })
}

func (r *runner) mustRegister(q parley.RegisterExecutorParams) parley.RegisterExecutorResult {
	r.t.Helper()
	got, err := r.register(q)
	if err != nil {
		r.t.Fatal(err)
	}
	return got
}

// push registers an executor of one agent that is offered turns.
func push(t testing.TB, h *hub.Hub, executor, agent string) *runner {
	t.Helper()
	r := connect(t, h, h.LocalPrincipal(agent))
	r.mustRegister(parley.RegisterExecutorParams{ExecutorID: executor, Agents: []string{agent}, Mode: parley.ModePush})
	return r
}

// offered takes the offers that have arrived. The caller is in a bubble.
func (r *runner) offered() []parley.RequestTurn {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	got := r.offers
	r.offers = nil
	return got
}

// oneOffer takes the only offer that has arrived.
func (r *runner) oneOffer() parley.RequestTurn {
	r.t.Helper()
	got := r.offered()
	if len(got) != 1 {
		r.t.Fatalf("%d offers, want 1: %+v", len(got), got)
	}
	return got[0]
}

func (r *runner) noOffer() {
	r.t.Helper()
	if got := r.offered(); len(got) != 0 {
		r.t.Fatalf("offers %+v, want none", got)
	}
}

// ended takes the claim_ended notifications that have arrived.
func (r *runner) ended() []parley.ClaimEndedNotification {
	synctest.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	got := r.ends
	r.ends = nil
	return got
}

func claimTurn(h *hub.Hub, p *hub.Principal, q parley.ClaimTurnParams) (parley.ClaimTurnResult, error) {
	return one(func(done func(parley.ClaimTurnResult, error)) { h.ClaimTurn(p, &q, done) })
}

// claim claims the only offer that has arrived.
func (r *runner) claim() parley.ClaimTurnResult {
	r.t.Helper()
	o := r.oneOffer()
	return r.take(o.ConversationID, o.ClaimID)
}

func (r *runner) take(conversation, claimID string) parley.ClaimTurnResult {
	r.t.Helper()
	c, err := claimTurn(r.h, r.p, parley.ClaimTurnParams{ConversationID: conversation, ClaimID: claimID})
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

// pull takes a turn by its number.
func (r *runner) pull(conversation string, turn int64) parley.ClaimTurnResult {
	r.t.Helper()
	c, err := claimTurn(r.h, r.p, parley.ClaimTurnParams{ConversationID: conversation, Turn: turn})
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func renew(h *hub.Hub, p *hub.Principal, conversation, claimID string) (parley.RenewClaimResult, error) {
	return one(func(done func(parley.RenewClaimResult, error)) {
		h.RenewClaim(p, &parley.RenewClaimParams{ConversationID: conversation, ClaimID: claimID}, done)
	})
}

func release(h *hub.Hub, p *hub.Principal, conversation, claimID string, o parley.ReleaseOutcome) error {
	_, err := one(func(done func(parley.EmptyResult, error)) {
		h.ReleaseClaim(p, &parley.ReleaseClaimParams{ConversationID: conversation, ClaimID: claimID, Outcome: o}, done)
	})
	return err
}

func cancelTurn(h *hub.Hub, p *hub.Principal, conversation string, turn int64) error {
	_, err := one(func(done func(parley.SeqResult, error)) {
		h.CancelTurn(p, &parley.CancelTurnParams{ConversationID: conversation, Turn: turn}, done)
	})
	return err
}

// under is a message under a claim that is named.
func under(q *parley.SendMessageParams, claimID string) *parley.SendMessageParams {
	q.ClaimID = claimID
	return q
}

// asked creates a conversation of an agent a, who begins, and a human b.
func asked(t testing.TB, h *hub.Hub, l *parley.Limits) string {
	t.Helper()
	return create(t, h, h.LocalPrincipal("b"), &parley.CreateConversationParams{
		Participants: []parley.Participant{{ID: "a", Kind: parley.KindAgent}, {ID: "b", Kind: parley.KindHuman}}, Limits: l,
	})
}

// inBubble runs a test with a hub in memory.
func inBubble(t *testing.T, test func(t *testing.T, h *hub.Hub, j journal.Journal)) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, rooted("t"))
		synctest.Wait() // the hub knows that there are no claims
		test(t, h, j)
	})
}

// pass lets time go by.
func pass(d time.Duration) {
	time.Sleep(d) // in the bubble
	synctest.Wait()
}

// turnEvents returns the events of turns after the first event, one word each.
func turnEvents(t testing.TB, j journal.Journal, id string) []string {
	t.Helper()
	var out []string
	for _, e := range events(t, j, id)[1:] {
		if e.Type != parley.TypeSystem {
			out = append(out, string(e.From)+":"+string(e.Finality))
			continue
		}
		sys, err := e.System()
		if err != nil {
			t.Fatal(err)
		}
		word := sys.Kind
		switch sys.Kind {
		case parley.KindTurnClaimed:
			word = fmt.Sprintf("claimed(%s %d)", sys.ExecutorID, sys.Attempt)
		case parley.KindClaimEnded, parley.KindTurnEnded:
			word = fmt.Sprintf("%s(%s)", sys.Kind, sys.Reason)
		}
		out = append(out, word)
	}
	return out
}

// wantTurns holds what the log has of turns against words.
func wantTurns(t testing.TB, j journal.Journal, id string, want ...string) {
	t.Helper()
	if got := turnEvents(t, j, id); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("the log has\n%v, want\n%v", got, want)
	}
}

// closedAs fails the test unless a conversation was closed so.
func closedAs(t testing.TB, j journal.Journal, id string, status parley.OutcomeStatus, reason string) {
	t.Helper()
	log := events(t, j, id)
	last := log[len(log)-1]
	if !last.Closes() || last.Outcome.Status != status || last.Outcome.Reason != reason {
		t.Fatalf("the last event is %s, want the close as %s (%s)", last.Raw(), status, reason)
	}
}
