package logs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/archive"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/hub/journal/bolt"
	"github.com/parleyhub/parley/hub/journal/journaltest"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/parleyhub/parley/sdk"
)

const backupWriters = 16

// parleyRun runs the program to its end and returns its output. env has NAME=VALUE.
func parleyRun(t *testing.T, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command("parley", args...)
	cmd.Env = append(os.Environ(), env...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("parley %s: %v\n%s", strings.Join(args, " "), err, errs.String())
	}
	return out.String()
}

// serveData runs a dev hub on a directory and returns the environment of its clients. stop ends it,
// and expects code 0.
func serveData(t *testing.T, dir string) (env []string, first clitest.FirstLine, stop func()) {
	t.Helper()
	cmd, first, _ := clitest.StartDevHub(t, "--data", dir)
	env = []string{cli.EnvURL + "=" + first.URL, cli.EnvToken + "=" + first.Token}
	return env, first, sync.OnceFunc(func() {
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
}

// TestBackupWhileOthersWrite: a backup during the writes of 16 clients has everything that was
// acknowledged before it began, and a prefix of every conversation. A hub can serve what is
// imported from it.
func TestBackupWhileOthersWrite(t *testing.T) {
	t.Parallel()
	dir, copied, file := filepath.Join(t.TempDir(), "data"), filepath.Join(t.TempDir(), "copy"),
		filepath.Join(t.TempDir(), "b.jsonl")
	env, first, stop := serveData(t, dir)
	client, err := sdk.Dial(t.Context(), first.URL, &sdk.Options{Token: first.Token, AgentID: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var acked [backupWriters]atomic.Int64
	var writers sync.WaitGroup
	for w := range backupWriters {
		writers.Go(func() { writeOn(ctx, t, client, fmt.Sprint("c", w), &acked[w]) })
	}
	for deadline := time.Now().Add(clitest.Patience); ; time.Sleep(time.Millisecond) {
		least := acked[0].Load()
		for i := range acked {
			least = min(least, acked[i].Load())
		}
		if least >= 5 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the writers do not get on")
		}
	}
	var before [backupWriters]int64
	for i := range acked {
		before[i] = acked[i].Load()
	}
	parleyRun(t, env, "log", "backup", file)
	cancel()
	writers.Wait()
	client.Close()
	stop()

	parleyRun(t, nil, "log", "import", file, "--data", copied)
	later := comparePrefixes(t, dir, copied, before[:])
	if later == 0 {
		t.Error("nobody wrote while the backup was taken: the test has shown nothing")
	}
	env, _, stop = serveData(t, copied)
	parleyRun(t, env, "send", "c7", "and on it goes", "--as", "ann")
	stop()
	parleyRun(t, nil, "log", "verify", "--data", copied)
}

// writeOn creates a conversation and writes to it until ctx ends, and reports the last acknowledged
// seq.
func writeOn(ctx context.Context, t *testing.T, client parley.Client, id string, acked *atomic.Int64) {
	_, err := client.CreateConversation(ctx, &parley.CreateConversationParams{
		ConversationID: id, Participants: []parley.Participant{{ID: "ann", Kind: parley.KindAgent}},
		Policy: &parley.Policy{Kind: parley.PolicyOpen},
	})
	for n := 0; err == nil; n++ {
		var r *parley.SendResult
		r, err = client.SendMessage(ctx, &parley.SendMessageParams{
			ConversationID: id, Finality: parley.FinalityTurn,
			Payload: json.RawMessage(fmt.Sprintf(`{"text":"message %d of %s"}`, n, id)),
		})
		if err == nil {
			acked.Store(r.Seq)
		}
	}
	if ctx.Err() == nil {
		t.Errorf("%s: %v", id, err)
	}
}

// comparePrefixes compares a copy with its original log, and returns how many more events the
// original has.
func comparePrefixes(t *testing.T, dir, copied string, atLeast []int64) (later int64) {
	t.Helper()
	whole, part := openTestLog(t, dir), openTestLog(t, copied)
	defer whole.Close()
	defer part.Close()
	journaltest.CheckInvariants(t, part)
	for w, least := range atLeast {
		id := fmt.Sprint("c", w)
		head, err := part.Head(id)
		if err != nil || head.Seq < least {
			t.Errorf("%s: the copy has %d events, %d were acknowledged before the backup began (%v)", id, head.Seq, least, err)
			continue
		}
		r, err := whole.Read(id, head.Seq-1, 1, 0)
		if err != nil || len(r) != 1 || r[0].Hash != head.Hash {
			t.Errorf("%s: the copy is no beginning of the log at seq %d, %v", id, head.Seq, err)
		}
	}
	return int64(whole.Last()) - int64(part.Last())
}

func openTestLog(t *testing.T, dir string) *bolt.Journal {
	t.Helper()
	j, err := bolt.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// TestImportKilled: an import that is killed again and again comes to the same log in the end.
func TestImportKilled(t *testing.T) {
	t.Parallel()
	file, dir := filepath.Join(t.TempDir(), "b.jsonl"), filepath.Join(t.TempDir(), "data")
	j := manyEvents(t)
	var b bytes.Buffer
	if _, err := archive.WriteBackup(t.Context(), &b, j, "test", nil); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	partly := 0
	for range 4 {
		killImport(t, file, dir)
		if n := beginningOf(t, dir, j); n > 0 && n < j.Last() {
			partly++
		}
	}
	if partly == 0 {
		t.Error("no import was killed with a part of the events there: the test has shown nothing")
	}
	parleyRun(t, nil, "log", "import", file, "--data", dir)
	if n := beginningOf(t, dir, j); n != j.Last() {
		t.Errorf("%d events, expected %d", n, j.Last())
	}
}

// killImport starts an import and kills it once the log has grown.
func killImport(t *testing.T, file, dir string) {
	t.Helper()
	size := func() int64 {
		info, err := os.Stat(filepath.Join(dir, "log.db"))
		if err != nil {
			return 0
		}
		return info.Size()
	}
	before := size()
	cmd := exec.Command("parley", "log", "import", file, "--data", dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for size() < before+1<<20 {
		select {
		case err := <-ended: // there was not much left to import
			if err != nil {
				t.Fatalf("the import failed by itself: %v", err)
			}
			return
		case <-time.After(time.Millisecond):
		}
	}
	cmd.Process.Kill()
	<-ended
}

// beginningOf checks that a log is a prefix of j, and returns its number of events.
func beginningOf(t *testing.T, dir string, j journal.Journal) journal.Position {
	t.Helper()
	if !bolt.Exists(dir) {
		return 0
	}
	got := openTestLog(t, dir)
	defer got.Close()
	journaltest.CheckInvariants(t, got)
	last := got.Last()
	if last == 0 {
		return 0
	}
	have, err := got.Scan(last-1, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	want, err := j.Scan(last-1, 1, 0)
	if err != nil || have[0].Conversation != want[0].Conversation || have[0].Hash != want[0].Hash {
		t.Fatalf("at position %d is another event: %v", last, err)
	}
	return last
}

// manyEvents returns a log of 8,000 messages in 20 conversations.
func manyEvents(t *testing.T) *memory.Journal {
	t.Helper()
	j := memory.New()
	t.Cleanup(func() { j.Close() })
	h, err := hub.Open(j, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	client := h.Client(h.LocalPrincipal("ann"))
	defer client.Close()
	for c := range 20 {
		_, err := client.CreateConversation(t.Context(), &parley.CreateConversationParams{
			ConversationID: fmt.Sprint("c", c), Participants: []parley.Participant{{ID: "ann", Kind: parley.KindAgent}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for n := range 8_000 {
		_, err := client.SendMessage(t.Context(), &parley.SendMessageParams{
			ConversationID: fmt.Sprint("c", n%20), Finality: parley.FinalityTurn,
			Payload: json.RawMessage(fmt.Sprintf(`{"text":"%d %s"}`, n, strings.Repeat("x", 500))),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return j
}
