package executors_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// TestStorm has replicas over real sockets with closed connections and a hub that is killed
// repeatedly. The agents fail, panic, yield and post parts of their messages. Each turn ends once,
// and every conversation ends.
func TestStorm(t *testing.T) {
	const turns = 8
	wild := parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		if turn.Attempt < 3 {
			switch rand.IntN(8) {
			case 0:
				return "", errors.New("not today")
			case 1:
				panic("oh")
			case 2:
				return parley.TurnPosted, nil
			case 3:
				if err := say(ctx, turn, parley.FinalityNone, "half"); err != nil {
					return "", err
				}
			}
		}
		return talk(turns)(ctx, turn)
	})
	for _, mode := range modes {
		t.Run(string(mode), func(t *testing.T) {
			h := sdktest.NewHub(t)
			ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
			defer stop()
			var runs sync.WaitGroup
			o := executors.Options{Mode: mode, MinBackoff: time.Millisecond, MaxBackoff: 20 * time.Millisecond,
				Grace: 5 * time.Second, PollEvery: 10 * time.Millisecond}
			serving, drain := context.WithCancel(ctx)
			for range 3 {
				for _, name := range []string{"a", "b"} {
					c := h.Client(t, name)
					runs.Go(func() {
						if err := executors.Run(serving, c, wild, &o); err != nil {
							t.Errorf("Run of %s ended with %v", name, err)
						}
					})
				}
			}
			admin := h.Admin(t)
			var ids []string
			for range 3 {
				p := limited(parley.Limits{TurnTimeoutMs: 500, ClaimWindowMs: 50, MaxAttempts: 100}, "a", "b")
				s, err := admin.CreateConversation(ctx, p)
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, s.ConversationID)
			}
			for n, id := range ids {
				finals := map[int64]int{}
				seen := 0
				for e, err := range admin.Events(ctx, id, 0) {
					if err != nil {
						t.Fatal(err)
					}
					if e.Type == parley.TypeMessage && e.Finality.Final() {
						finals[e.Turn]++
					}
					if seen++; seen%5 == 0 {
						h.CutConnections()
					}
					if n < 2 && seen == 13 {
						h.Restart(t)
					}
				}
				for turn := int64(1); turn <= turns; turn++ {
					if finals[turn] != 1 {
						t.Errorf("%s: turn %d has %d final messages", id, turn, finals[turn])
					}
				}
			}
			drain()
			runs.Wait()
		})
	}
}
