package bolt_test

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/bolt"
	"github.com/parleyhub/parley/hub/journal/journaltest"
)

// childEnv tells the test binary, run again as a process of its own, what to do in which directory.
const (
	childEnv     = "PARLEY_BOLT_TEST_CHILD"
	childWrite   = "write"
	childHold    = "hold"
	childCompact = "compact"
	childDirEnv  = "PARLEY_BOLT_TEST_DIR"
	childRound   = "PARLEY_BOLT_TEST_ROUND"
)

func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case childWrite:
		fail(writeForEver(os.Getenv(childDirEnv), os.Getenv(childRound)))
	case childHold:
		fail(holdOpen(os.Getenv(childDirEnv)))
	case childCompact:
		fail(compactAndDie(os.Getenv(childDirEnv), os.Getenv(childRound)))
	default:
		flag.Set("rapid.checks", "20") // a default: each check of the model opens journals and syncs
		os.Exit(m.Run())
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// child starts the test binary as another process.
func child(t *testing.T, what, dir, round string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+what, childDirEnv+"="+dir, childRound+"="+round)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	return cmd, bufio.NewReader(out)
}

func holdOpen(dir string) error {
	j, err := bolt.Open(dir, nil)
	if err != nil {
		return err
	}
	fmt.Println("open")
	_, err = io.Copy(io.Discard, os.Stdin)
	return errors.Join(err, j.Close())
}

func TestInUseByAnotherProcess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+childHold, childDirEnv+"="+dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "open\n" {
		t.Fatal(line, err)
	}
	_, err = bolt.Open(dir, nil)
	if !errors.Is(err, journal.ErrInUse) || !strings.Contains(err.Error(), dir) {
		t.Errorf("open of a directory in use: %v", err)
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Fatal(err)
	}
	open(t, dir, nil)
}

const childWriters, childConversations = 16, 7

// writeForEver appends with many writers and prints each event that was acked.
func writeForEver(dir, round string) error {
	j, err := bolt.Open(dir, &bolt.Options{CheckpointRecords: 200, CheckpointInterval: 5 * time.Millisecond})
	if err != nil {
		return err
	}
	var out sync.Mutex
	errs := make(chan error)
	for w := range childWriters {
		go func() {
			for i := 0; ; i++ {
				id := fmt.Sprint("c", (w+i)%childConversations)
				event := fmt.Sprintf("round %s writer %d event %d %s", round, w, i, strings.Repeat("x", i*37%3000))
				head, err := appendAtHead(j, id, event)
				if err != nil {
					errs <- err
					return
				}
				out.Lock()
				fmt.Printf("%s %d %x\n", id, head.Seq, head.Hash)
				out.Unlock()
			}
		}()
	}
	return <-errs
}

func appendAtHead(j journal.Journal, id, event string) (journal.Head, error) {
	for {
		h, err := j.Head(id)
		if err != nil {
			return h, err
		}
		type result struct {
			head journal.Head
			err  error
		}
		done := make(chan result, 1)
		b := journaltest.Batch(id, h.Seq, event)
		b.Done = func(h journal.Head, err error) { done <- result{h, err} }
		j.Submit(b)
		r := <-done
		var moved *journal.MovedError
		if !errors.As(r.err, &moved) {
			return r.head, r.err
		}
	}
}

// A process is killed while it writes, again and again: what it had acked is there, in its place, once.
func TestKill(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("short: make test runs it, without the race detector")
	}
	rounds := 3
	if *bolt.Thorough {
		rounds = 8
	}
	dir := filepath.Join(t.TempDir(), "data")
	acked := make(map[string]bool)
	for round := range rounds {
		cmd, out := child(t, childWrite, dir, fmt.Sprint(round))
		for range 1 + rand.IntN(2000) {
			line, err := out.ReadString('\n')
			if err != nil {
				t.Fatalf("round %d: the child ended by itself: %v", round, err)
			}
			acked[strings.TrimSuffix(line, "\n")] = true
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for { // what it printed before it died counts, except for half a line
			line, err := out.ReadString('\n')
			if err != nil {
				break
			}
			acked[strings.TrimSuffix(line, "\n")] = true
		}
		if err := cmd.Wait(); err == nil {
			t.Fatal("the child was not killed")
		}
		checkAcked(t, dir, acked)
	}
	t.Logf("%d acked events over %d kills", len(acked), rounds)
}

func checkAcked(t *testing.T, dir string, acked map[string]bool) {
	t.Helper()
	j := open(t, dir, nil)
	journaltest.CheckInvariants(t, j)
	found := 0
	events := make(map[string]bool)
	for after := journal.Position(0); ; {
		page, err := j.Scan(after, 500, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, r := range page {
			if acked[fmt.Sprintf("%s %d %x", r.Conversation, r.Seq, r.Hash)] {
				found++
			}
			if events[string(r.Data)] {
				t.Fatalf("%s seq %d is in the log twice", r.Conversation, r.Seq)
			}
			events[string(r.Data)] = true
			after = r.Position
		}
	}
	if found != len(acked) {
		t.Fatalf("%d of %d acked events are in the log", found, len(acked))
	}
	closeJournal(t, j)
}
