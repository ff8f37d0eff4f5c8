package hub_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/parleyhub/parley"
)

// TestCloseRacesPosts: 50 clients close one conversation while each of them posts.
func TestCloseRacesPosts(t *testing.T) {
	j := newJournal(t)
	h := startOn(t, j, nil)
	const clients, posts = 50, 10
	var ids []string
	for i := range clients {
		ids = append(ids, fmt.Sprint("p", i))
	}
	id := create(t, h, h.LocalPrincipal("p0"), open2(ids...))
	type outcome struct {
		words string
		sent
	}
	var mu sync.Mutex
	var outcomes []outcome
	var wg sync.WaitGroup
	for i, who := range ids {
		wg.Go(func() {
			p := h.LocalPrincipal(who)
			for n := range posts {
				words := fmt.Sprintf("%s says %d", who, n)
				q := message(id, words, parley.FinalityTurn, fmt.Sprint("k", n))
				if n == 4+i%5 {
					q.Finality = parley.FinalityConversation
				}
				r := <-post(h, p, q)
				if again := <-post(h, p, q); r.err == nil && (again.err != nil || again.Seq != r.Seq || !again.Duplicate) {
					t.Errorf("%s: %+v, again %+v", words, r, again)
				}
				mu.Lock()
				outcomes = append(outcomes, outcome{words, r})
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	logged := make(map[string]int64)
	closes := 0
	for _, e := range events(t, j, id) {
		if e.Closes() {
			closes++
		}
		if m, err := e.Message(); err == nil && e.Type == parley.TypeMessage {
			if _, twice := logged[m.Text]; twice {
				t.Fatalf("%q is in the log twice", m.Text)
			}
			logged[m.Text] = e.Seq
		}
	}
	if closes != 1 || len(outcomes) != clients*posts {
		t.Fatalf("%d closes, %d outcomes", closes, len(outcomes))
	}
	acked := 0
	for _, o := range outcomes {
		seq, in := logged[o.words]
		switch {
		case o.err == nil && seq != o.Seq:
			t.Errorf("%q was acknowledged at %d, the log has it at %d", o.words, o.Seq, seq)
		case o.err != nil && in:
			t.Errorf("%q was refused (%v) and is in the log", o.words, o.err)
		case o.err != nil && !errors.Is(o.err, parley.ErrConversationClosed):
			t.Errorf("%q: %v", o.words, o.err)
		}
		if o.err == nil {
			acked++
		}
	}
	if acked != len(logged) || acked == 0 || acked == clients*posts {
		t.Fatalf("%d acknowledged, %d in the log", acked, len(logged))
	}
}

// TestOneTurnOneWinner: many hands of one participant race for the same turn; exactly one opens each.
func TestOneTurnOneWinner(t *testing.T) {
	j := newJournal(t)
	h := startOn(t, j, nil)
	id := create(t, h, h.LocalPrincipal("a"), &parley.CreateConversationParams{Participants: seats("a", "b")})
	for turn := int64(1); turn <= 20; turn++ {
		who := []string{"b", "a"}[turn%2]
		var wg sync.WaitGroup
		var mu sync.Mutex
		won := 0
		for i := range 16 {
			wg.Go(func() {
				q := message(id, fmt.Sprint(turn, " ", i), parley.FinalityTurn, "")
				q.Turn = turn
				r := <-post(h, h.LocalPrincipal(who), q)
				mu.Lock()
				defer mu.Unlock()
				if r.err == nil {
					won++
				} else if !errors.Is(r.err, parley.ErrTurnClosed) {
					t.Errorf("turn %d: %v", turn, r.err)
				}
			})
		}
		if wg.Wait(); won != 1 {
			t.Fatalf("turn %d was won by %d", turn, won)
		}
	}
}
