package jetstream_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/jetstream"
	"github.com/parleyhub/parley/hub/journal/journaltest"
	"github.com/parleyhub/parley/internal/natscluster"
)

// patience is that of tests in which servers do not answer.
const patience = 300 * time.Millisecond

type answer struct {
	head journal.Head
	err  error
}

func submit(j journal.Journal, b journal.Batch) <-chan answer {
	answers := make(chan answer, 1)
	b.Done = func(h journal.Head, err error) { answers <- answer{h, err} }
	j.Submit(b)
	return answers
}

// wired opens a node behind a wire, and one that is connected directly.
func wired(t testing.TB, c *natscluster.Cluster) (*wire, *jetstream.Journal, *jetstream.Journal) {
	t.Helper()
	w := newWire(t, c.Address(0))
	o := jetstream.Options{System: c.SystemURL(), Patience: patience}
	return w, open(t, c.URLAt(w.addr()), filepath.Join(t.TempDir(), "replica"), o), nodes(t, c, 1, 0)[0]
}

// TestLostAcknowledgement: a message is in the stream, and the node that has published it does not hear of it. It publishes it again, which comes to nothing.
func TestLostAcknowledgement(t *testing.T) {
	t.Parallel()
	c := cluster(t, nil)
	w, j, other := wired(t, c)
	w.toClient.shut.Store(true)
	a := submit(j, journaltest.Batch("c", 0, "once"))
	reach(t, other, 1)
	journaltest.Append(t, other, "c", 1, "behind it")
	select {
	case a := <-a:
		t.Fatalf("answered before anything was heard: %+v", a)
	default:
	}
	w.mend()
	if a := <-a; a.err != nil || a.head.Seq != 1 {
		t.Fatalf("%+v", a)
	}
	checkSame(t, []*jetstream.Journal{j, other})
	checkOnce(t, j, 2)
	for again := time.After(calm); j.Applied() < 3; { // both it and what is behind it are there already
		moved := j.Moved()
		if j.Applied() >= 3 {
			break
		}
		select {
		case <-moved:
		case <-again:
			t.Fatalf("the stream has %d messages, the node has published nothing again", j.Applied())
		}
	}
}

// refusals counts the lines of a log that say that servers refuse the node, and drops the others.
type refusals struct {
	slog.Handler
	seen chan struct{}
}

func (r *refusals) Handle(_ context.Context, record slog.Record) error {
	if strings.Contains(record.Message, "refuses") {
		select {
		case r.seen <- struct{}{}:
		default:
		}
	}
	return nil
}

// TestRefusedForAWhile: servers that do not take the node for a while, as between two changes of a password, are tried on until they do.
func TestRefusedForAWhile(t *testing.T) {
	t.Parallel()
	c := cluster(t, nil)
	said := &refusals{Handler: slog.NewTextHandler(io.Discard, &slog.HandlerOptions{Level: slog.LevelDebug}),
		seen: make(chan struct{})}
	j := open(t, c.URL(), filepath.Join(t.TempDir(), "replica"),
		jetstream.Options{System: c.SystemURL(), Patience: calm, Logger: slog.New(said)})
	journaltest.Append(t, j, "c", 0, "before")
	config, err := os.ReadFile(c.Config(0))
	if err != nil {
		t.Fatal(err)
	}
	again := func(text string) {
		t.Helper()
		c.Stop(0)
		if err := errors.Join(os.WriteFile(c.Config(0), []byte(text), 0o600), c.Restart(0)); err != nil {
			t.Fatal(err)
		}
	}
	_, password := natscluster.Login()
	again(strings.ReplaceAll(string(config), "password: "+password, "password: another"))
	for range 4 { // nats.go closes the connection after the second refusal
		select {
		case <-said.seen:
		case <-time.After(calm):
			t.Fatal("the node does not try again")
		}
	}
	again(string(config))
	a := submit(j, journaltest.Batch("c", 1, "after"))
	select {
	case a := <-a:
		if a.err != nil {
			t.Error(a.err)
		}
	case <-time.After(calm):
		t.Error("not written though the servers take the node again")
	}
}

// TestLostQuestion: what Open asks about the stream never comes to the server. It asks again, however long its caller would wait.
func TestLostQuestion(t *testing.T) {
	t.Parallel()
	c := cluster(t, nil)
	w := newWire(t, c.Address(0))
	question := ".STREAM.INFO."
	w.toServer.at.Store(&question)
	ctx, cancel := context.WithTimeout(t.Context(), calm) // an Open that asks once fails at its end
	defer cancel()
	opened := make(chan error, 1)
	go func() {
		for {
			j, err := jetstream.Open(ctx, c.URLAt(w.addr()), filepath.Join(t.TempDir(), "replica"),
				&jetstream.Options{System: c.SystemURL()})
			if err == nil {
				err = j.Close()
			}
			if !errors.Is(err, journal.ErrUnavailable) || ctx.Err() != nil {
				opened <- err
				return
			}
		}
	}()
	w.toServer.await(t, len(question))
	w.mend()
	if err := <-opened; err != nil {
		t.Fatalf("open after the question was lost: %v", err)
	}
}

// TestLostMessage: a message never comes to the server. It is published again, or, if the conversation has moved meanwhile, refused.
func TestLostMessage(t *testing.T) {
	t.Parallel()
	for name, moved := range map[string]bool{"and the head stays": false, "and the head moves": true} {
		t.Run(name, func(t *testing.T) {
			c := cluster(t, nil)
			w, j, other := wired(t, c)
			w.toServer.shut.Store(true)
			a := submit(j, journaltest.Batch("c", 0, strings.Repeat("x", 10_000)))
			w.toServer.await(t, 10_000)
			if moved {
				journaltest.Append(t, other, "c", 0, "first")
			}
			w.mend()
			got := <-a
			var m *journal.MovedError
			if errors.As(got.err, &m) != moved || (got.err == nil) == moved || got.head.Seq != 1 {
				t.Fatalf("%+v", got)
			}
			checkSame(t, []*jetstream.Journal{j, other})
			checkOnce(t, j, 1)
		})
	}
}

// TestUnansweredCheck: a check without an answer is refused, and later ones are not affected.
func TestUnansweredCheck(t *testing.T) {
	t.Parallel()
	c := cluster(t, nil)
	w, j, other := wired(t, c)
	head := journaltest.Append(t, other, "c", 0, "x")
	reach(t, j, 1)
	w.toClient.shut.Store(true)
	if a := <-submit(j, journal.Batch{Conversation: "c", After: 1, On: &head.Hash}); !errors.Is(a.err,
		journal.ErrUnavailable) {
		t.Fatalf("%+v", a)
	}
	w.mend()
	awaitReady(t, j)
	journaltest.Append(t, j, "c", 1, "y")
	checkSame(t, []*jetstream.Journal{j, other})
}

// awaitAway waits until a node says that it has lost the servers. (A batch that is published before that waits for its outcome.)
func awaitAway(t testing.TB, j *jetstream.Journal) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for j.Ready() == nil {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("the node is ready without a server")
		}
	}
	if err := j.Ready(); !errors.Is(err, journal.ErrUnavailable) {
		t.Errorf("ready: %v", err)
	}
}

// awaitReady waits until a node can read and write.
func awaitReady(t testing.TB, j *jetstream.Journal) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for err := j.Ready(); err != nil; err = j.Ready() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal(err)
		}
	}
	for { // the first may be refused while it is found out that the servers are back
		_, err := journal.Append(t.Context(), j, journaltest.Batch("~ready", 9))
		if !errors.Is(err, journal.ErrUnavailable) {
			return
		}
	}
}

// TestServersAway: while there is no server the node says so and refuses batches by name; it reads what it has; and it catches up by itself.
func TestServersAway(t *testing.T) {
	t.Parallel()
	c := cluster(t, nil)
	w, j, other := wired(t, c)
	journaltest.Append(t, j, "c", 0, "before")
	w.unplug()
	awaitAway(t, j)
	for range 3 {
		if _, err := journal.Append(t.Context(), j, journaltest.Batch("c", 1, "never")); !errors.Is(err,
			journal.ErrUnavailable) {
			t.Fatalf("append: %v", err)
		}
	}
	if _, err := j.PutBlob([]byte("x")); !errors.Is(err, journal.ErrUnavailable) {
		t.Errorf("put: %v", err)
	}
	if r, err := j.Read("c", 0, 10, 100); err != nil || len(r) != 1 {
		t.Errorf("read: %v, %v", r, err)
	}
	journaltest.Append(t, other, "c", 1, "meanwhile")
	w.mend()
	reach(t, j, 2)
	awaitReady(t, j)
	journaltest.Append(t, j, "c", 2, "after")
	checkSame(t, []*jetstream.Journal{j, other})
	checkOnce(t, j, 3)
}

// TestServerRestarts: acknowledged records survive the restart of a server, and pending batches are
// answered after it.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	c := cluster(t, nil)
	var js []*jetstream.Journal
	for range 2 {
		js = append(js, open(t, c.URL(), filepath.Join(t.TempDir(), "replica"),
			jetstream.Options{System: c.SystemURL(), Patience: patience}))
	}
	for i := range int64(10) {
		journaltest.Append(t, js[0], "c", i, "before")
	}
	c.Stop(0)
	awaitAway(t, js[0])
	if _, err := journal.Append(t.Context(), js[0], journaltest.Batch("c", 10, "never")); !errors.Is(err,
		journal.ErrUnavailable) {
		t.Fatalf("append: %v", err)
	}
	if err := c.Restart(0); err != nil {
		t.Fatal(err)
	}
	for _, j := range js {
		awaitReady(t, j)
	}
	journaltest.Append(t, js[1], "c", 10, "after")
	checkSame(t, js)
}

// TestCloseWhileAway: a batch whose outcome is not known when the journal is closed is said to be unknown, and one that was not published is refused.
func TestCloseWhileAway(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: left out under the race detector")
	}
	c := cluster(t, nil)
	w, j, other := wired(t, c)
	w.toClient.shut.Store(true)
	published := submit(j, journaltest.Batch("c", 0, "x"))
	reach(t, other, 1)
	behind := submit(j, journaltest.Batch("c", 1, "y"))
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if a := <-published; !errors.Is(a.err, journal.ErrOutcomeUnknown) {
		t.Errorf("published: %+v", a)
	}
	if a := <-behind; !errors.Is(a.err, journal.ErrUnavailable) {
		t.Errorf("behind it: %+v", a)
	}
	checkOnce(t, other, 1)
}

// TestOrderWhileAway: batches of one conversation are answered in the order in which they were submitted, also where those of others are refused meanwhile.
func TestOrderWhileAway(t *testing.T) {
	t.Parallel()
	c := cluster(t, nil)
	w, j, other := wired(t, c)
	w.toClient.shut.Store(true)
	first := submit(j, journaltest.Batch("c", 0, "x"))
	reach(t, other, 1)
	second := submit(j, journaltest.Batch("c", 1, "y"))
	if a := <-submit(j, journaltest.Batch("d", 0, "z")); !errors.Is(a.err, journal.ErrUnavailable) {
		t.Errorf("another conversation: %+v", a)
	}
	select {
	case a := <-second:
		t.Errorf("the second is answered before the first: %+v", a)
	default:
	}
	w.mend()
	if a := <-first; a.err != nil || a.head.Seq != 1 {
		t.Errorf("first: %+v", a)
	}
	if a := <-second; a.err != nil || a.head.Seq != 2 {
		t.Errorf("second: %+v", a)
	}
	checkOnce(t, j, 2)
}
