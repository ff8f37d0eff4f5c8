package hub_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

// reader checks the items of one subscription against the rules as they arrive.
type reader struct {
	who      string
	types    []parley.EventType
	since    int64
	seqs     []int64
	caughtUp int
	last     int64 // seq of the last item that has one
	guidance *parley.Guidance
	deltas   []parley.Delta
}

func (r *reader) take(items []hub.Item) error {
	for _, i := range items {
		switch {
		case i.Event != nil:
			var e parley.Event
			if err := json.Unmarshal(i.Event, &e); err != nil {
				return err
			}
			if want := `"conversationId":"race","event":` + string(i.Event) + `}}`; string(i.Tail) != want {
				return fmt.Errorf("tail %s, want %s", i.Tail, want)
			}
			if e.Seq != i.Seq || e.Seq <= r.last && len(r.seqs) > 0 || e.Seq <= r.since {
				return fmt.Errorf("event %d after %d", e.Seq, r.last)
			}
			r.seqs, r.last = append(r.seqs, e.Seq), e.Seq
		case i.CaughtUp:
			if r.caughtUp++; r.caughtUp > 1 || i.Seq < r.last {
				return fmt.Errorf("caught_up number %d at %d after %d", r.caughtUp, i.Seq, r.last)
			}
			r.last = i.Seq
		case i.Guidance != nil:
			if r.caughtUp == 0 || i.Seq < r.last {
				return fmt.Errorf("guidance at %d after %d, caught up %d", i.Seq, r.last, r.caughtUp)
			}
			if r.guidance != nil && reflect.DeepEqual(*r.guidance, *i.Guidance) {
				return fmt.Errorf("guidance %+v twice", *i.Guidance)
			}
			r.guidance, r.last = i.Guidance, i.Seq
		case i.Delta != nil:
			if r.caughtUp == 0 {
				return errors.New("delta before caught_up")
			}
			r.deltas = append(r.deltas, *i.Delta)
		default:
			return fmt.Errorf("empty item %+v", i)
		}
	}
	return nil
}

// TestManySubscribers: 200 subscriptions with all kinds of filters and cursors, fast and slow,
// start during the writes.
func TestManySubscribers(t *testing.T) {
	j := newJournal(t)
	h := startOn(t, j, &hub.Options{MaxLoaded: 1, IdleEvict: time.Millisecond})
	a := h.LocalPrincipal("a")
	q := open2("a", "b", "c")
	q.ConversationID, q.Participants[2].Private = "race", "for c"
	create(t, h, a, q)
	const writes = 600
	var wg sync.WaitGroup
	var mu sync.Mutex
	readers := make([]*reader, 200)
	if testing.Short() {
		readers = readers[:60]
	}
	progress := make(chan struct{}, writes) // one for each write: lets readers join on the way
	start := func(i int) {
		rng := rand.New(rand.NewPCG(uint64(i), 7))
		r := &reader{who: []string{"a", "b", "c"}[i%3], types: [][]parley.EventType{
			nil, {parley.TypeMessage}, {parley.TypeTrace, parley.TypeSystem}, {parley.TypeSystem},
		}[rng.IntN(4)]}
		mu.Lock()
		readers[i] = r
		mu.Unlock()
		p := h.LocalPrincipal(r.who)
		s, err := latest(t.Context(), h, p)
		if err != nil {
			t.Error(err)
			return
		}
		r.since = rng.Int64N(s + 1)
		wg.Go(func() {
			if err := pump(t.Context(), h, p, r, 1+rng.IntN(40), i%5 == 0, rng); err != nil {
				t.Errorf("reader %d (%s since %d types %v): %v", i, r.who, r.since, r.types, err)
			}
		})
	}
	wg.Go(func() {
		for n := range writes {
			p := h.LocalPrincipal([]string{"a", "b"}[n%2])
			var err error
			switch n % 5 {
			case 0:
				_, err = one(func(done func(parley.SendResult, error)) { h.SendTrace(p, trace("race", "x", ""), done) })
				if err == nil {
					err = (<-post(h, p, message("race", "traced", parley.FinalityTurn, ""))).err
				}
			case 1:
				_, err = one(func(done func(parley.SeqResult, error)) { h.SendNote(p, note("race", "n", ""), done) })
			default:
				err = (<-post(h, p, message("race", "m", parley.FinalityTurn, ""))).err
			}
			if err != nil {
				t.Error(err)
			}
			progress <- struct{}{}
		}
		if err := (<-post(h, a, message("race", "bye", parley.FinalityConversation, ""))).err; err != nil {
			t.Error(err)
		}
		close(progress)
	})
	for i := range readers {
		if i%2 == 0 {
			<-progress
		}
		start(i)
	}
	wg.Wait()
	log := events(t, j, "race")
	for i, r := range readers {
		var want []int64
		for _, e := range log {
			own := e.Type != parley.TypeTrace || e.From == r.who
			if strings.Contains(string(e.Payload), "participant_private") {
				own = r.who == "c"
			}
			if e.Seq > r.since && own && (r.types == nil || slices.Contains(r.types, e.Type)) {
				want = append(want, e.Seq)
			}
		}
		if !slices.Equal(r.seqs, want) {
			t.Errorf("reader %d (%s since %d types %v) got %d events, want %d", i, r.who, r.since, r.types, len(r.seqs), len(want))
		}
		if r.caughtUp != 1 || r.guidance.Kind != parley.Closed {
			t.Errorf("reader %d: caught up %d times, guidance %+v", i, r.caughtUp, r.guidance)
		}
	}
}

// pump reads until the guidance says closed. A restless reader sometimes drops its subscription and
// continues from its cursor.
func pump(ctx context.Context, h *hub.Hub, p *hub.Principal, r *reader, max int, slow bool, rng *rand.Rand) error {
	s, err := h.Subscribe(ctx, p, &parley.SubscribeParams{ConversationID: "race", SinceSeq: r.since, Types: r.types})
	if err != nil {
		return err
	}
	defer s.Close()
	for r.guidance == nil || r.guidance.Kind != parley.Closed {
		if slow && rng.IntN(3) == 0 {
			select {
			case <-time.After(time.Duration(rng.IntN(30)) * time.Millisecond):
			case <-ctx.Done():
			}
		}
		items, err := s.Next(ctx, max)
		if err != nil {
			return err
		}
		if len(items) == 0 || len(items) > max {
			return fmt.Errorf("%d items, asked for at most %d", len(items), max)
		}
		if err := r.take(items); err != nil {
			return err
		}
	}
	return nil
}

// TestSlowSubscriber falls behind the events in memory, twice, and continues from the journal.
func TestSlowSubscriber(t *testing.T) {
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, &hub.Options{IdleEvict: time.Second})
		a := h.LocalPrincipal("a")
		q := open2("a")
		q.ConversationID = "race"
		create(t, h, a, q)
		s, err := h.Subscribe(t.Context(), a, &parley.SubscribeParams{ConversationID: "race"})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		r := &reader{who: "a"}
		for range 2 {
			for range 500 {
				say(t, h, a, message("race", "x", parley.FinalityTurn, ""))
			}
			<-time.After(time.Minute) // idle for long: a conversation with a subscriber stays
			if h.Loaded() != 1 {
				t.Fatalf("%d loaded", h.Loaded())
			}
			for int64(len(r.seqs)) < int64(len(events(t, j, "race"))) {
				items, err := s.Next(t.Context(), 7)
				if err != nil {
					t.Fatal(err)
				}
				if err := r.take(items); err != nil {
					t.Fatal(err)
				}
			}
		}
		s.Close()
		<-time.After(time.Minute)
		if h.Loaded() != 0 {
			t.Fatalf("%d loaded", h.Loaded())
		}
	})
}

// TestDeltas: deltas come between the events, in order, to readers that have caught up, and not
// later.
func TestDeltas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		h := startOn(t, j, nil)
		t.Cleanup(j.Release)
		a, b := h.LocalPrincipal("a"), h.LocalPrincipal("b")
		id := create(t, h, a, &parley.CreateConversationParams{Participants: seats("a", "b")})
		live, err := h.Subscribe(t.Context(), b, &parley.SubscribeParams{ConversationID: id, SinceSeq: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer live.Close()
		var got []string
		look := func() {
			t.Helper()
			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()
			for {
				items, err := live.Next(ctx, 1)
				if err != nil {
					return
				}
				if len(items) != 1 {
					t.Fatalf("%d items", len(items))
				}
				switch i := items[0]; {
				case i.Event != nil:
					got = append(got, fmt.Sprint("event ", i.Seq))
				case i.Delta != nil:
					got = append(got, fmt.Sprint("delta ", i.Delta.Index, i.Delta.Text))
				case i.CaughtUp:
					got = append(got, fmt.Sprint("caught up ", i.Seq))
				default:
					got = append(got, fmt.Sprint(i.Guidance.Kind, i.Seq))
				}
			}
		}
		delta := func(p *hub.Principal, turn, index int64) error {
			_, err := one(func(done func(int, error)) {
				h.SendDelta(p, &parley.SendDeltaParams{ConversationID: id, Turn: turn, Index: index, Text: "d"},
					func(err error) { done(0, err) })
			})
			return err
		}
		look()
		refused(t, delta(b, 1, 0), parley.ErrNotYourTurn)
		refused(t, delta(a, 2, 0), parley.ErrTurnConflict)
		for i := range int64(3) {
			if err := delta(a, 1, i); err != nil {
				t.Fatal(err)
			}
		}
		say(t, h, a, message(id, "ddd", parley.FinalityTurn, ""))
		refused(t, delta(a, 1, 3), parley.ErrTurnClosed)
		if err := delta(b, 2, 0); err != nil {
			t.Fatal(err)
		}
		say(t, h, b, message(id, "d", parley.FinalityNone, ""))
		if err := delta(b, 2, 1); err != nil {
			t.Fatal(err)
		}
		look()
		want := []string{"caught up 1", "wait1", "delta 0d", "delta 1d", "delta 2d", "event 2", "delta 0d", "event 3",
			"may_speak3", "delta 1d"}
		if !slices.Equal(got, want) {
			t.Fatalf("got  %v\nwant %v", got, want)
		}
		// A delta in the turn of a message that is not durable yet goes out after that message.
		got = nil
		j.Hold()
		first := post(h, b, message(id, "pending", parley.FinalityNone, ""))
		synctest.Wait() // until the journal takes it, so that the others join the next round
		h.SendDelta(b, &parley.SendDeltaParams{ConversationID: id, Turn: 2, Index: 2, Text: "e"}, func(error) {})
		last := post(h, b, message(id, "done", parley.FinalityTurn, ""))
		look()
		if len(got) > 0 {
			t.Fatalf("before the commit: %v", got)
		}
		j.Release()
		<-first
		<-last
		look()
		if want := []string{"event 4", "delta 2e", "event 5", "wait5"}; !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
		late, err := h.Subscribe(t.Context(), b, &parley.SubscribeParams{ConversationID: id})
		if err != nil {
			t.Fatal(err)
		}
		defer late.Close()
		items, err := late.Next(t.Context(), 100)
		if err != nil || len(items) != 7 || late.LatestSeq() != 5 {
			t.Fatalf("%d items since the start, %v", len(items), err)
		}
		// Of 1000 deltas a slow reader gets the last ones.
		for i := range int64(1000) {
			if err := delta(a, 3, i); err != nil {
				t.Fatal(err)
			}
		}
		items, err = late.Next(t.Context(), 1000)
		if err != nil || len(items) != 256 || items[255].Delta.Index != 999 || items[0].Delta.Index != 744 {
			t.Fatalf("%d deltas, %v", len(items), err)
		}
		// A reader that is behind gets no deltas before it has caught up.
		behind, err := h.Subscribe(t.Context(), b, &parley.SubscribeParams{ConversationID: id})
		if err != nil {
			t.Fatal(err)
		}
		defer behind.Close()
		if _, err := behind.Next(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if err := delta(a, 3, 0); err != nil {
			t.Fatal(err)
		}
		say(t, h, a, message(id, "d", parley.FinalityNone, ""))
		for caughtUp := false; !caughtUp; {
			items, err := behind.Next(t.Context(), 3)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range items {
				if caughtUp = caughtUp || i.CaughtUp; i.Delta != nil && !caughtUp {
					t.Fatal("a delta before caught_up")
				}
			}
		}
	})
}

// TestGuidanceIsPushed after each event that changed it, and after no other.
func TestGuidanceIsPushed(t *testing.T) {
	h := startOn(t, newJournal(t), nil)
	a, b := h.LocalPrincipal("a"), h.LocalPrincipal("b")
	id := create(t, h, a, &parley.CreateConversationParams{Participants: seats("a", "b"),
		Limits: &parley.Limits{IdleTimeoutMs: 60_000}})
	s, err := h.Subscribe(t.Context(), b, &parley.SubscribeParams{ConversationID: id})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var got []string
	until := func(seq int64) { // each step is looked at before the next is made
		t.Helper()
		for done := false; !done; {
			items, err := s.Next(t.Context(), 100)
			if err != nil {
				t.Fatal(err)
			}
			for _, i := range items {
				switch {
				case i.Event != nil:
					got = append(got, fmt.Sprint(i.Seq))
					done = i.Seq == seq
				case i.Guidance != nil:
					got = append(got, string(i.Guidance.Kind)+string(i.Guidance.Action))
				}
			}
		}
	}
	until(1)
	add := &parley.AddParticipantParams{ConversationID: id, Participant: parley.Participant{ID: "c",
		Kind: parley.KindAgent}}
	if _, err := one(func(done func(parley.SeqResult, error)) { h.AddParticipant(a, add, done) }); err != nil {
		t.Fatal(err)
	}
	until(2)
	if _, err := one(func(done func(parley.SeqResult, error)) { h.SendNote(b, note(id, "n", ""), done) }); err != nil {
		t.Fatal(err)
	}
	until(3)
	for seq, q := range []*parley.SendMessageParams{message(id, "m", parley.FinalityNone, ""),
		message(id, "m", parley.FinalityNone, ""), message(id, "m", parley.FinalityTurn, "")} {
		say(t, h, a, q)
		until(int64(seq + 4))
	}
	say(t, h, b, message(id, "m", parley.FinalityNone, ""))
	until(7)
	say(t, h, b, message(id, "m", parley.FinalityConversation, ""))
	until(8)
	want := []string{"1", "wait", "2", "3", "4", "wait", "5", "6", "may_speakstart_turn", "7", "may_speakcontinue_turn", "8", "closed"}
	if !slices.Equal(got, want) {
		t.Fatalf("got  %v\nwant %v", got, want)
	}
}

func TestSubscriptionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := startOn(t, newJournal(t), nil)
		a := h.LocalPrincipal("a")
		id := create(t, h, a, open2("a"))
		q := &parley.SubscribeParams{ConversationID: id, SinceSeq: 1}
		end := func(ctx context.Context, how func(*hub.Subscription)) error {
			s, err := h.Subscribe(t.Context(), a, q)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if _, err := s.Next(t.Context(), 10); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() {
				_, err := s.Next(ctx, 10)
				ended <- err
			}()
			synctest.Wait()
			if len(ended) > 0 {
				t.Fatalf("Next did not wait: %v", <-ended)
			}
			how(s)
			return <-ended
		}
		refused(t, end(t.Context(), func(s *hub.Subscription) { s.Close(); s.Close() }), parley.ErrUnavailable)
		ctx, cancel := context.WithCancel(t.Context())
		if err := end(ctx, func(*hub.Subscription) { cancel() }); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		refused(t, end(t.Context(), func(*hub.Subscription) { h.Drain() }), parley.ErrUnavailable)
		_, err := h.Subscribe(t.Context(), a, q)
		refused(t, err, parley.ErrUnavailable)
	})
}

func latest(ctx context.Context, h *hub.Hub, p *hub.Principal) (int64, error) {
	r, err := h.WaitForChange(ctx, p, &parley.WaitForChangeParams{ConversationID: "race"})
	return r.LatestSeq, err
}
