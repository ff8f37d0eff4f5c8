package a2a

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/promise"
	"github.com/parleyhub/parley/torture/proxy"
)

const (
	// streamWorkers begin short tasks meanwhile, one after another.
	streamWorkers = 4
	// wordsBetween is how many words the teller said from one kill to the next, at least.
	wordsBetween = 200
	// streamEnd detects a hang of any wait.
	streamEnd = 3 * time.Minute
)

// planCut says after how many bytes a connection is cut: most in the middle of events.
func planCut() int64 {
	if rand.IntN(4) == 0 {
		return rand.Int64N(1 << 10)
	}
	return rand.Int64N(192 << 10) // a task with its history has about 40 KiB
}

// TestStreams kills the hub, and in the second part also the separate adapter, while clients stream
// and start tasks in every dialect. Some clients use a proxy that cuts connections at any byte. A
// client that returns with its cursor receives the same events as a client without a cut: all of
// the log, once and in order. Each repeated message is posted once.
func TestStreams(t *testing.T) {
	t.Parallel()
	for _, apart := range []bool{false, true} {
		name := "in the hub"
		if apart {
			name = "apart"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testStreams(t, newWorld(t, apart, false))
		})
	}
}

func testStreams(t *testing.T, w *world) {
	cutter, err := proxy.Start(w.door(), planCut)
	if err != nil {
		t.Fatal(err)
	}
	defer cutter.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	readers, forgetful := newReaders(w, cutter)
	var long, short errgroup.Group
	for _, r := range append(readers, forgetful...) {
		long.Go(func() error { return stopAll(cancel, r.run(ctx)) })
	}
	workers := make([]*worker, streamWorkers)
	full := make(chan struct{})
	for i := range workers {
		workers[i] = &worker{id: fmt.Sprintf("w%d", i), base: baseAt(cutter.Addr()), full: full}
		short.Go(func() error { return stopAll(cancel, workers[i].run(ctx)) })
	}
	killed := 0
	for ; killed < *kills && ctx.Err() == nil; killed++ {
		before := w.teller.words.Load()
		waitFor(t, streamEnd, "words between two kills", func() bool {
			return w.teller.words.Load() >= before+wordsBetween ||
				ctx.Err() != nil
		})
		time.Sleep(rand.N(50 * time.Millisecond)) // so that a kill comes anywhere
		w.kill(killed)
	}
	close(full)
	w.teller.hush()
	late := time.AfterFunc(streamEnd, func() { cancel(fmt.Errorf("not at the end %s after the last kill", streamEnd)) })
	defer late.Stop()
	if err := errors.Join(short.Wait(), long.Wait()); err != nil {
		t.Error(err)
	}
	cutter.Calm()
	j := &judge{t: t, world: w}
	for _, r := range readers {
		j.reader(r)
	}
	for _, r := range forgetful {
		j.forgetful(r)
	}
	for _, k := range workers {
		j.worker(k)
	}
	cuts := cutter.Counts().Cuts
	if least := int64(*kills); cuts < least {
		t.Errorf("%d connections were cut, expected %d at least: the run proves too little", cuts, least)
	}
	t.Logf("%d kills, %d connections cut: %d updates to %d readers, which came back %d times; %d tasks begun by %d requests that had no answer or half of one; %d replays",
		killed, cuts, j.updates, len(readers), j.cuts, j.tasks, j.lost, j.replays)
	promise.ID(19).Kept(t, promise.Tried{
		Faults: killed + int(cuts), Operations: j.updates + j.tasks, Unknown: j.lost,
		Violations: max(j.violations, promise.Broken(t)), Figure: fmt.Sprintf("%d connections cut", cuts),
	})
}

// stopAll ends all with the first that has failed.
func stopAll(cancel context.CancelCauseFunc, err error) error {
	if err != nil {
		cancel(err)
	}
	return err
}

// newReaders are two of each dialect, of which one is cut by the proxy too, and one that forgets
// its cursor.
func newReaders(w *world, cutter *proxy.Proxy) (all, forgetful []*reader) {
	for i, d := range dialects {
		for j, base := range []string{w.base(), baseAt(cutter.Addr())} {
			all = append(all, &reader{dialect: d, base: base, agent: "ann", message: fmt.Sprintf("long-%d-%d", i, j),
				text: "tell"})
		}
	}
	return all, []*reader{{dialect: dialects[0], base: w.base(), agent: "ann", message: "long-0-0", text: "tell",
		forgets: true}}
}

// judge holds what clients were given against what there is.
type judge struct {
	t     *testing.T
	world *world

	updates, cuts, tasks, lost, replays, violations int
}

func (j *judge) broken(format string, args ...any) {
	j.t.Helper()
	j.violations++
	j.t.Errorf("P19: "+format, args...)
}

// reader holds what a reader was given against one stream of the whole task, and that against the
// log.
func (j *judge) reader(r *reader) {
	j.t.Helper()
	if r.task == "" {
		j.broken("%s of %s was given no task", r.dialect.name, r.message)
		return
	}
	first, whole, err := replay(j.t.Context(), r.dialect, j.world.base(), r.agent, r.task, r.first.id)
	if err != nil {
		j.broken("%s of %s from its beginning: %v", r.dialect.name, r.message, err)
		return
	}
	if first != r.first {
		j.broken("%s of %s began with\n%v\nand without a cut with\n%v", r.dialect.name, r.message, r.first, first)
	}
	j.same(fmt.Sprintf("%s of %s, over %d streams", r.dialect.name, r.message, r.cuts+1), r.all, whole)
	j.updates += len(r.all)
	j.cuts += r.cuts
	j.lost += r.asked
	j.log(r, whole)
	starts := []int{0, len(whole) - 2, len(whole) - 3} // also within the last record, which brings two updates
	for range 20 {
		starts = append(starts, rand.IntN(len(whole)-1))
	}
	for _, n := range starts {
		_, rest, err := replay(j.t.Context(), r.dialect, j.world.base(), r.agent, r.task, whole[n].id)
		if err != nil {
			j.broken("%s of %s from %s: %v", r.dialect.name, r.message, whole[n].id, err)
			continue
		}
		j.replays++
		j.same(fmt.Sprintf("%s of %s from %s", r.dialect.name, r.message, whole[n].id), rest, whole[n+1:])
	}
}

// same says the first difference.
func (j *judge) same(what string, got, want []given) {
	j.t.Helper()
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			j.broken("%s: update %d of %d is\n%v\nand without a cut\n%v", what, i, len(want), got[i], want[i])
			return
		}
	}
	if len(got) != len(want) {
		j.broken("%s: %d updates, and without a cut %d", what, len(got), len(want))
	}
}

// log holds the words in a whole stream against those in the log.
func (j *judge) log(r *reader, whole []given) {
	j.t.Helper()
	said := j.said(r.task)
	var last int64
	var heard []string
	for _, g := range whole {
		seq, _, _ := strings.Cut(g.id, ".")
		n, err := strconv.ParseInt(seq, 10, 64)
		if err != nil || n < last {
			j.broken("%s of %s: %s comes after %d", r.dialect.name, r.message, g.id, last)
		}
		last = n
		v, err := r.dialect.read([]byte(g.said))
		if err != nil {
			j.t.Fatal(err)
		}
		if v.Update != nil && v.Update.Status.text() != "" {
			heard = append(heard, seq+" "+v.Update.Status.text())
		}
	}
	for i := range max(len(heard), len(said)) {
		if i >= len(heard) || i >= len(said) || heard[i] != said[i] {
			j.broken("%s of %s: %d words of %d in the log, and the %d. is another: %q", r.dialect.name, r.message, len(heard),
				len(said), i+1, heard[min(i, len(heard)-1)])
			return
		}
	}
}

// said returns what others than the caller said in a task's conversation.
func (j *judge) said(task string) (words []string) {
	for _, e := range j.events(task) {
		if e.Type == parley.TypeMessage && e.From == tellerName {
			m, err := e.Message()
			if err != nil {
				j.t.Fatal(err)
			}
			words = append(words, fmt.Sprintf("%d %s", e.Seq, m.Text))
		}
	}
	return words
}

func (j *judge) events(task string) (all []parley.Event) {
	j.t.Helper()
	at := strings.LastIndexByte(task, '.')
	if at < 0 {
		j.t.Fatalf("%q is no task", task)
	}
	c := dial(j.t, j.world.ws(), "ann")
	defer c.Close()
	for since := int64(0); ; {
		page, err := c.Tail(j.t.Context(), &parley.TailParams{ConversationID: task[:at], SinceSeq: since, Limit: parley.MaxPage})
		if err != nil {
			j.t.Fatal(err)
		}
		all = append(all, page.Events...)
		if since = page.NextSeq; since >= page.LatestSeq {
			return all
		}
	}
}

// forgetful checks a reader without a cursor: it receives the current state of the task and later
// updates, in order and without duplicates.
func (j *judge) forgetful(r *reader) {
	var last int64
	for _, g := range r.all {
		seq, _, _ := strings.Cut(g.id, ".")
		n, err := strconv.ParseInt(seq, 10, 64)
		if err != nil || n < last {
			j.broken("without a cursor %s comes after %d", g.id, last)
		}
		last = n
	}
	j.updates += len(r.all)
}
