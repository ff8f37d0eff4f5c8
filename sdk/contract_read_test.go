package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parleyhub/parley"
)

// TestContractEvents: events come in order, live ones too, until the one that closes; behind the
// end there is nothing to wait for.
func TestContractEvents(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, s *scene) {
		speakers := []parley.Client{s.a, s.b}
		var seqs []int64
		for e, err := range s.a.Events(t.Context(), s.id, 0) {
			if err != nil {
				t.Fatal(err)
			}
			seqs = append(seqs, e.Seq)
			n := len(seqs)
			f := parley.FinalityTurn
			if n == 6 {
				f = parley.FinalityConversation
			}
			if n <= 6 {
				s.must(s.say(speakers[(n-1)%2], f, "", fmt.Sprint("turn ", n)))
			}
		}
		if want := []int64{1, 2, 3, 4, 5, 6, 7}; !slices.Equal(seqs, want) {
			t.Errorf("events %v, expected %v", seqs, want)
		}
		for _, since := range []int64{6, 7} {
			n := int64(0)
			for _, err := range s.a.Events(t.Context(), s.id, since) {
				if err != nil {
					t.Fatal(err)
				}
				n++
			}
			if n != 7-since {
				t.Errorf("after %d came %d events", since, n)
			}
		}
		for _, err := range s.hub.Admin(t).Events(t.Context(), s.id, 7) { // not a participant
			t.Errorf("behind the end came something: %v", err)
		}
		for _, err := range s.a.Events(t.Context(), s.id, 8) {
			if !errors.Is(err, parley.ErrCursorAhead) {
				t.Errorf("a cursor ahead gives %v", err)
			}
		}
		for _, err := range s.a.Events(t.Context(), "no-such", 0) {
			if !errors.Is(err, parley.ErrNotFound) {
				t.Errorf("a conversation that is not there gives %v", err)
			}
		}
	})
}

// TestContractSubscribe: replay, caught_up once, guidance, deltas, and types as asked for.
func TestContractSubscribe(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, s *scene) {
		s.must(s.say(s.a, parley.FinalityTurn, "", "one"))
		var got []string
		q := &parley.SubscribeParams{ConversationID: s.id, Types: []parley.EventType{parley.TypeMessage}}
		for n, err := range s.b.Subscribe(t.Context(), q) {
			switch {
			case err != nil:
				t.Fatal(err)
			case n.Event != nil:
				got = append(got, fmt.Sprint("event ", n.Event.Seq))
			case n.CaughtUp != nil:
				got = append(got, fmt.Sprint("caught up ", n.CaughtUp.Seq))
			case n.Guidance != nil:
				got = append(got, fmt.Sprint("guidance ", n.Guidance.Guidance.Kind, " ", n.Guidance.Seq))
				if n.Guidance.Guidance.Kind == parley.MaySpeak && n.Guidance.Guidance.Action == parley.StartTurn && len(got) == 3 {
					err := s.b.SendDelta(t.Context(), &parley.SendDeltaParams{ConversationID: s.id, Turn: 2, Index: 0, Text: "tw"})
					if err != nil {
						t.Fatal(err)
					}
				}
			case n.Delta != nil:
				got = append(got, "delta "+n.Delta.From+" "+n.Delta.Text)
				s.must(s.say(s.b, parley.FinalityTurn, "", "two"))
			}
			if len(got) == 6 {
				break
			}
		}
		want := []string{"event 2", "caught up 2", "guidance may_speak 2", "delta b tw", "event 3", "guidance wait 3"}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("subscription (-want +got):\n%s", d)
		}
	})
}

// TestContractContext: a wait ends with its ctx, and everything with the client.
func TestContractContext(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, s *scene) {
		waits := map[string]func(ctx context.Context) error{
			"WaitForChange": func(ctx context.Context) error {
				_, err := s.a.WaitForChange(
					ctx,
					&parley.WaitForChangeParams{ConversationID: s.id, SinceSeq: s.latest, TimeoutMs: 60_000},
				)
				return err
			},
			"GetUpdates": func(ctx context.Context) error {
				_, err := s.a.GetUpdates(
					ctx,
					&parley.GetUpdatesParams{ConversationID: s.id, Until: parley.UntilClosed, TimeoutMs: 60_000},
				)
				return err
			},
			"Events": func(ctx context.Context) error {
				for _, err := range s.a.Events(ctx, s.id, s.latest) {
					return err
				}
				return nil
			},
		}
		for name, wait := range waits {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- wait(ctx) }()
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("%s whose ctx ended gives %v", name, err)
			}
			if err := wait(ctx); !errors.Is(err, context.Canceled) {
				t.Errorf("%s whose ctx had ended before gives %v", name, err)
			}
		}
		ended := make(chan error, len(waits))
		for _, wait := range waits {
			go func() { ended <- wait(t.Context()) }()
		}
		if err := s.a.Close(); err != nil {
			t.Fatal(err)
		}
		for range waits {
			if err := <-ended; !errors.Is(err, parley.ErrUnavailable) {
				t.Errorf("a wait of a client that was closed gives %v", err)
			}
		}
	})
}
