package simulation

import (
	"bytes"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/internal/promise"
)

// bug is one that is planted below or above the hub, to see that a simulation finds it.
type bug string

const (
	sound       bug = ""
	notSynced   bug = "a crash takes the last records that were called durable"
	falseNo     bug = "an append whose outcome is unknown is called refused"
	keysLost    bug = "the log does not keep the keys"
	cursorAhead bug = "a stream goes on one event too late"
	cursorBack  bug = "a stream goes on one event too early"
)

// planted are the bugs, and the promise of which a simulation shall say that it is broken.
var planted = []struct {
	bug bug
	id  promise.ID
}{{notSynced, 1}, {falseNo, 2}, {keysLost, 3}, {cursorAhead, 9}, {cursorBack, 9}}

// TestSimulationFindsPlants: a simulation that cannot fail says nothing.
func TestSimulationFindsPlants(t *testing.T) {
	if testing.Short() {
		t.Skip("some are found in several simulations only")
	}
	for _, p := range planted {
		t.Run(string(p.bug), func(t *testing.T) {
			const most = 30
			for seed := uint64(1); seed <= most; seed++ {
				r := play(t, seed, p.bug)
				if found := r.problems[p.id]; len(found) > 0 {
					t.Logf("found with seed %d: %s", seed, found[0])
					return
				}
			}
			t.Errorf("%d simulations have not found it", most)
		})
	}
}

// journal returns what the hub sees of a journal.
func (b bug) journal(j journal.Journal) journal.Journal {
	switch b {
	case falseNo:
		return denying{j}
	case keysLost:
		return keyless{j}
	}
	return j
}

// door returns what the network sees of a door.
func (b bug) door(h http.Handler) http.Handler {
	shift := map[bug]int64{cursorAhead: 1, cursorBack: -1}[b]
	if shift == 0 {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if seq, err := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64); err == nil && seq > 1 {
			r.Header.Set("Last-Event-ID", strconv.FormatInt(seq+shift, 10))
		}
		h.ServeHTTP(w, r)
	})
}

// forget returns a journal that lacks the last records of another: as if they had not been synced.
func forget(j *memory.Journal, last int) *memory.Journal {
	records, _ := j.Scan(0, math.MaxInt, math.MaxInt)
	fresh := memory.New()
	for _, r := range records[:max(len(records)-last, 0)] {
		fresh.Submit(journal.Batch{Conversation: r.Conversation, After: r.Seq - 1, Events: [][]byte{r.Data}, Final: r.Final,
			Labels: r.Labels, Done: func(journal.Head, error) {}})
	}
	_ = j.Close()
	return fresh
}

// denying says of what it does not know that it was not written.
type denying struct{ journal.Journal }

func (d denying) Submit(b journal.Batch) {
	b = b.Sealed()
	done := b.Done
	b.Done = func(h journal.Head, err error) {
		if err != nil && strings.Contains(err.Error(), "reply lost") {
			err = fmt.Errorf("%w: so it seems", journal.ErrStorageFull)
		}
		done(h, err)
	}
	d.Journal.Submit(b)
}

// keyless writes events without their keys.
type keyless struct{ journal.Journal }

func (k keyless) Submit(b journal.Batch) {
	b = b.Sealed()
	for i, data := range b.Events {
		if at := bytes.Index(data, []byte(`,"clientRequestId":"`)); at > 0 {
			b.Events[i] = append(bytes.Clone(data[:at]), '}')
		}
	}
	k.Journal.Submit(b)
}
