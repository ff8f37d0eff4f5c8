package simulation

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/journal/journaltest"
	"github.com/parleyhub/parley/internal/promise"
)

var (
	seeds   = flag.Int("simulation.seeds", 25, "how many simulations TestSimulation plays")
	oneSeed = flag.Uint64("simulation.seed", 0, "the one simulation that TestSimulation plays and shows; 0 is all of them")
)

// judged are the promises that a simulation tries to break.
var judged = []promise.ID{1, 2, 3, 4, 5, 6, 7, 9, 10, 15}

// TestSimulation passes if the logs match all answers to clients, whatever faults were injected.
func TestSimulation(t *testing.T) {
	if *oneSeed != 0 {
		r := play(t, *oneSeed, sound)
		t.Logf("%v\n%s\n%v", r.plan, strings.Join(r.story, "\n"), r.counts)
		report(t, r)
		return
	}
	began := time.Now()
	total := playAll(t, *seeds)
	t.Logf("%d seeds: %v; %.0f seeds/s", *seeds, total, float64(*seeds)/time.Since(began).Seconds())
	if n := int64(*seeds); total.crashes < 4*n || total.cuts < 10*n || total.acked < 100*n || total.unknown < 2*n ||
		total.delivered < 500*n || total.waits < 20*n || total.claims < 5*n || total.sessions < 2*n {
		t.Errorf("that is too little to prove anything")
	}
	for _, id := range judged {
		id.Kept(t, total.tried(id))
	}
}

// playAll plays the first seeds, as many at once as there are processors.
func playAll(t *testing.T, seeds int) counts {
	var mu sync.Mutex
	var total counts
	var last, shown atomic.Uint64
	t.Run("seeds", func(t *testing.T) {
		for i := range runtime.GOMAXPROCS(0) {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				for seed := last.Add(1); seed <= uint64(seeds); seed = last.Add(1) {
					r := play(t, seed, sound)
					report(t, r)
					if len(r.problems) > 0 && shown.Add(1) == 1 {
						t.Logf("%v\n%s", r.plan, strings.Join(r.story, "\n"))
					}
					mu.Lock()
					total.add(r.counts)
					mu.Unlock()
				}
			})
		}
	})
	return total
}

// report fails the test for what is wrong.
func report(t *testing.T, r result) {
	for id, problems := range r.problems {
		for i, p := range problems {
			if i == 5 {
				t.Errorf("seed %d: %v: and %d more", r.plan.seed, id, len(problems)-i)
				break
			}
			t.Errorf("seed %d: %v: %s", r.plan.seed, id, p)
		}
	}
	if len(r.problems) > 0 {
		t.Errorf("-simulation.seed %d shows it", r.plan.seed)
	}
}

// result is the result of a simulation.
type result struct {
	plan plan
	counts
	problems map[promise.ID][]string
	story    []string
}

// play plays one simulation and judges it.
func play(t *testing.T, seed uint64, b bug) result {
	var w *world
	synctest.Test(t, func(t *testing.T) {
		w = newWorld(t, draw(seed), b)
		w.play()
	})
	return judge(w)
}

// play lets everybody do what they do while the plan is carried out, brings it to its end, and
// makes a backup.
func (w *world) play() {
	bounded, cut := context.WithCancel(context.Background())
	defer cut()
	reading, leave := context.WithCancel(context.Background())
	defer leave()
	w.bounded, w.reading = bounded, reading
	w.open()
	admin := w.client("admin")
	w.settle()
	var observing sync.WaitGroup
	observing.Go(w.observe)
	w.begin(admin)
	w.harm()
	w.crash() // so that nothing that was armed is left
	w.open()
	time.Sleep(time.Second) // all goes well
	close(w.ended)
	stop := time.AfterFunc(30*time.Second, cut)
	w.parties.Wait()
	stop.Stop()
	w.finish(admin, leave)
	w.saved = w.backup()
	for _, c := range w.clients {
		_ = c.Close()
	}
	w.stop()
	defer func() { // also if there is no log
		if err := w.journal.Close(); err != nil {
			w.t.Error(err)
		}
		observing.Wait()
	}()
	journaltest.CheckInvariants(w.t, w.journal)
}

// begin lets everybody begin.
func (w *world) begin(admin parley.Client) {
	party := func(f func()) { w.parties.Go(f) }
	first, d, m, s, a1, a2, box := w.client("w1"), w.client("d"), w.client("m"), w.client("s"), w.client("a"),
		w.client("a"), w.client("ops")
	tokens := map[bool]string{true: rootToken, false: w.token("d")}
	second, third := w.token("w2"), w.token("w3")
	party(func() { w.writer("w1").byClient(first) })
	party(func() { w.writer("w2").bySocket(second) })
	party(func() { w.writer("w3").byPost(third) })
	for i := range rounds {
		party(func() { w.drive(d, roundOf(i)) })
	}
	party(w.executor("x1", a1).run)
	party(w.executor("x2", a2).run)
	party(func() { w.make(m) })
	party(func() { w.start(s) })
	party(func() { w.runCommands(box) })
	party(func() { w.wait(tokens[false]) })
	party(func() { w.look(admin) })
	r := w.random("readers")
	sockets := map[bool]parley.Client{true: admin, false: d}[w.plan.everything[0]]
	for i, id := range lasting() {
		bySocket := w.feed("the socket reader", id, r.Int64N(2), w.plan.everything[0])
		byStream := w.feed("the stream reader", id, r.Int64N(2), w.plan.everything[1])
		randoms := [2]string{fmt.Sprint("socket ", i), fmt.Sprint("stream ", i)}
		w.readers.Go(func() { w.bySubscription(sockets, bySocket, w.random(randoms[0])) })
		w.readers.Go(func() { w.byStream(tokens[w.plan.everything[1]], byStream, w.random(randoms[1])) })
	}
}

// finish asks once more for everybody's guidance, closes everything, and waits until the readers
// have read the ends.
func (w *world) finish(admin parley.Client, leave func()) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, id := range lasting() {
		w.explain(ctx, admin, id)
	}
	for open := -1; open != 0; {
		page, err := admin.ListConversations(ctx, &parley.ListConversationsParams{Status: parley.StatusActive, Limit: 100})
		if err != nil {
			w.problem(noPromise, "it does not come to its end: %v", err)
			break
		}
		open = len(page.Conversations)
		for _, c := range page.Conversations {
			_, err := admin.CloseConversation(ctx, &parley.CloseConversationParams{ConversationID: c.ConversationID})
			w.note("admin closes %s: %v", c.ConversationID, err)
		}
		time.Sleep(10 * time.Millisecond) // so that it ends, whatever is answered
	}
	late := time.AfterFunc(30*time.Second, func() {
		w.problem(9, "a reader has not read to the end half a minute after it")
		leave()
	})
	w.readers.Wait()
	late.Stop()
}

// backup asks the hub for all that it has.
func (w *world) backup() []byte {
	req, err := http.NewRequest(http.MethodGet, "http://127.0.0.1/backup", nil)
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header = http.Header{"Authorization": {"Bearer " + rootToken}}
	resp, err := (&http.Transport{DialContext: w.net.dial, DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		w.problem(noPromise, "no backup: %v", err)
		return nil
	}
	defer resp.Body.Close()
	var all bytes.Buffer
	if _, err := io.Copy(&all, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		w.problem(noPromise, "no backup: HTTP %d, %v", resp.StatusCode, err)
	}
	return all.Bytes()
}
