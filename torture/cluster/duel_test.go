package cluster

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/history"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/promise"
	"github.com/parleyhub/parley/sdk"
	"github.com/parleyhub/parley/torture/duel"
)

var (
	duelFaults = flag.Int("cluster.duelfaults", 1, "how many faults of machines TestDuelUnderFaults draws")
	duelCuts   = flag.Int("cluster.duelcuts", 0, "how often it cuts the power of all machines")
)

const (
	replicas      = 6
	conversations = 8
	// maxDown is how many replicas are stopped or dead at once, at most.
	maxDown = 4
	// answerTime detects a question without an answer, and endTime a replica that hangs after SIGTERM.
	answerTime = 5 * time.Minute
	endTime    = 2 * time.Minute
	// aloneTime is how long replicas alone are stopped and killed at the end.
	aloneTime = 2 * time.Second
	// checkTime bounds the judgement by the model.
	checkTime = 5 * time.Minute
)

// TestDuelUnderFaults: replicas of an agent, each a process that has the addresses of three hubs,
// answer a person in several conversations, while they are stopped and killed and hubs and servers
// are harmed. Each turn is said once, by one claim at a time, and none hangs.
func TestDuelUnderFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("short: a duel on three hubs left out")
	}
	atSite(t, []promise.ID{6, 7, 8}, func(t *testing.T, at *apart) { fight(t, at, *duelCuts) },
		func(t *testing.T, at *loopback) { fight(t, at, 0) })
}

// contest is one duel.
type contest struct {
	t        *testing.T
	c        *cluster
	n        *nemesis
	client   *sdk.Client
	driver   *duel.Recorder
	records  string // the driver's file
	ids      []string
	replicas []*replica
	left     atomic.Int64 // questions, until the conversations are closed
	failed   chan error
	stops    int
	kills    int
}

// replica is a process of the agent, and its successors under the same executorId.
type replica struct {
	process
	files []string  // of records, one for each process
	until time.Time // when it comes back
}

// endless is more questions than there is time for.
const endless = 1 << 40

func fight(t *testing.T, at site, cuts int) {
	drawn := drawSeed(t)
	f := &contest{t: t, c: newCluster(t, at, false), failed: make(chan error, conversations)}
	f.left.Store(endless)
	f.prepare()
	f.n = newNemesis(f.c, f, 20, drawn)
	f.n.rest = f.harass
	for i := range replicas {
		f.replicas = append(f.replicas, f.newReplica(fmt.Sprintf("replica-%d", i)))
	}
	var asking sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	defer asking.Wait()
	defer cancel()
	for _, id := range f.ids {
		asking.Go(func() {
			if err := duel.Drive(ctx, f.driver, id, &f.left, answerTime); err != nil && ctx.Err() == nil {
				f.failed <- err
			}
		})
	}
	f.n.harm(*duelFaults, cuts)
	f.harass(aloneTime) // all machines being well: a short run has takeovers too, whatever its faults were
	f.left.Store(0)     // each conversation is closed with its next question
	ended := make(chan struct{})
	go func() { asking.Wait(); close(ended) }()
	select {
	case <-ended:
	case err := <-f.failed:
		t.Fatal(err)
	case <-time.After(2 * answerTime):
		t.Fatal("a conversation does not come to its end")
	}
	select {
	case err := <-f.failed: // both were there, and the end was drawn
		t.Fatal(err)
	default:
	}
	f.end()
	f.judge()
}

// done counts questions, each of which but the first rests on the answer to the one before.
func (f *contest) Done() int64           { return endless - f.left.Load() }
func (f *contest) Failure() <-chan error { return f.failed }

// prepare makes the driver and the conversations.
func (f *contest) prepare() {
	f.t.Helper()
	ctx := f.t.Context()
	file, err := os.Create(filepath.Join(f.t.TempDir(), "driver.jsonl"))
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { file.Close() })
	f.records = file.Name()
	f.client, err = sdk.Dial(ctx, f.c.urls(), &sdk.Options{Token: f.c.token, AgentID: duel.Driver, HTTPClient: f.c.dialer,
		MaxBackoff: time.Second})
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { f.client.Close() })
	f.driver = duel.NewRecorder(f.client, duel.Driver, file)
	for i := range conversations {
		id := fmt.Sprintf("duel-%d", i)
		if err := duel.Create(ctx, f.client, id); err != nil {
			f.t.Fatal(err)
		}
		f.ids = append(f.ids, id)
	}
}

// newReplica starts one.
func (f *contest) newReplica(id string) *replica {
	f.t.Helper()
	made, err := f.client.CreateToken(f.t.Context(), &parley.CreateTokenParams{AgentID: duel.Agent})
	if err != nil {
		f.t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		f.t.Fatal(err)
	}
	dir := f.t.TempDir()
	r := &replica{process: process{t: f.t, name: id, log: filepath.Join(f.c.dir, id+".log")}}
	r.begin = func(cmd *exec.Cmd) error { return f.c.site.do(func() error { return hubproc.Start(cmd) }) }
	r.make = func() *exec.Cmd {
		file := filepath.Join(dir, fmt.Sprintf("%d.jsonl", len(r.files)))
		r.files = append(r.files, file)
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), duel.EnvReplica+"="+id, duel.EnvRecords+"="+file, duel.EnvURL+"="+f.c.urls(),
			duel.EnvToken+"="+made.Token)
		return cmd
	}
	f.t.Cleanup(r.process.end)
	r.start()
	return r
}

// harass stops and kills replicas for a while.
func (f *contest) harass(d time.Duration) {
	f.t.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); {
		f.raise(time.Now())
		down := 0
		for _, r := range f.replicas {
			if r.isDown() {
				down++
			}
		}
		r := f.replicas[f.n.rng.IntN(len(f.replicas))]
		switch {
		case r.isDown() || down >= maxDown:
		case f.kills > 0 && f.n.rng.IntN(3) > 0: // the first is a kill: a short run has one too
			r.pause()
			f.stops++
			r.until = time.Now().Add(f.n.upTo(1500 * time.Millisecond))
		default:
			r.kill()
			f.kills++
			r.until = time.Now().Add(f.n.upTo(time.Second))
		}
		time.Sleep(20*time.Millisecond + f.n.upTo(160*time.Millisecond))
	}
	f.raise(time.Now().Add(time.Hour))
}

func (r *replica) isDown() bool { return r.paused || !r.runs() }

// raise restarts the replicas that are due.
func (f *contest) raise(now time.Time) {
	f.t.Helper()
	for _, r := range f.replicas {
		switch {
		case now.Before(r.until):
		case r.paused:
			r.wake()
		case !r.runs() && !r.until.IsZero():
			r.start()
		}
		if !r.isDown() {
			r.until = time.Time{}
		}
	}
}

// end ends the replicas.
func (f *contest) end() {
	f.t.Helper()
	for _, r := range f.replicas {
		for deadline := time.Now().Add(endTime); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
			if _, err := os.Stat(r.files[len(r.files)-1]); err == nil { // from then on it notices a SIGTERM
				break
			}
		}
		r.stop(endTime)
	}
}

// judge checks the logs of all hubs and the answers to callers.
func (f *contest) judge() {
	t := f.t
	t.Helper()
	known := map[string]int64{}
	for _, id := range f.ids {
		events, err := duel.TailAll(t.Context(), f.client, id)
		if err != nil {
			t.Fatal(err)
		}
		known[id] = int64(len(events))
	}
	j := f.c.agree(known)
	for _, id := range f.ids {
		if log := j.Logs[id]; len(log) == 0 || !log[len(log)-1].Closes() {
			t.Errorf("%s is not closed after %d events, though its driver has come to the end", id, len(log))
		}
	}
	turns, takeovers, lapses := duel.CountAll(t, f.ids, j.Logs)
	ops := f.history()
	for _, o := range duel.Missing(ops, j.Logs) {
		t.Errorf("acknowledged, and not in the log: %s", o)
	}
	held := f.early(ops, j.Logs)
	if err := history.CheckTurns(ops, checkTime); err != nil {
		t.Error(err)
	}
	sum := f.n.tell() + f.stops + f.kills
	t.Logf("%d turns of the agent, %d takeovers, %d lapses, %d calls under claims that stood, %d calls judged by the model; %d stops and %d kills of replicas; slowest to be well again %.1f s",
		turns, takeovers, len(lapses), held, len(ops), f.stops, f.kills, f.n.worst.Seconds())
	if f.stops == 0 || f.kills == 0 || takeovers == 0 || held == 0 || turns < conversations {
		t.Error("too little to prove anything")
	}
	tried := promise.Tried{Faults: sum, Operations: turns}
	j.Kept(1, promise.Tried{Faults: sum, Operations: j.compared})
	tried.Violations = promise.Broken(t)
	promise.ID(6).Kept(t, tried)
	promise.ID(7).Kept(t, tried)
	promise.ID(8).Kept(t, tried)
}

// early looks for claims whose time a hub said to be over before it was, by whatever clock, and
// counts the calls that were taken under a claim in its time.
func (f *contest) early(ops []history.Op, logs map[string][]parley.Event) (held int) {
	f.t.Helper()
	expired := f.expired(logs)
	granted := map[string]int64{} // when a claim was asked for, in ns
	for _, o := range ops {
		if o.Kind == history.Claim && o.Result == history.Done {
			granted[o.Claim] = o.Begin
		}
	}
	for _, o := range ops {
		at, known := granted[o.Claim]
		if !known || o.Kind == history.Release || o.End > at+duel.ClaimMs*int64(time.Millisecond) {
			continue
		}
		switch o.Result {
		case history.Done:
			held++
		case history.Lost:
			if !expired[fmt.Sprintf("%x", sha256.Sum256([]byte(o.Claim)))] {
				continue // another attempt ended its turn, or its process restarted without it
			}
			f.t.Errorf("a claim was lost before its time, %d ms after it was asked for: %s", (o.End-at)/int64(time.Millisecond),
				o.String())
		}
	}
	return held
}

// expired returns the hashes of the claims that ended because their time was over.
func (f *contest) expired(logs map[string][]parley.Event) map[string]bool {
	f.t.Helper()
	all := map[string]bool{}
	for id, log := range logs {
		for i := range log {
			if log[i].Type != parley.TypeSystem {
				continue
			}
			s, err := log[i].System()
			if err != nil {
				f.t.Fatalf("%s: seq %d: %v", id, i+1, err)
			}
			if s.Kind == parley.KindClaimEnded && s.Reason == string(parley.ClaimExpired) {
				all[s.ClaimHash] = true
			}
		}
	}
	return all
}

// history reads what all processes wrote.
func (f *contest) history() []history.Op {
	f.t.Helper()
	files := []string{f.records}
	for _, r := range f.replicas {
		files = append(files, r.files...)
	}
	ops, _ := duel.ReadRecords(f.t, files...)
	return ops
}
