//go:build linux

package disk

import (
	"os"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/promise"
	"github.com/parleyhub/parley/torture/faultfs"
)

var program hubproc.Program

func TestMain(m *testing.M) {
	os.Exit(hubproc.Main(m, func(p hubproc.Program) { program = p }))
}

// needFaults leaves a test out where faultfs does not work.
func needFaults(t *testing.T, ids ...promise.ID) {
	t.Helper()
	if missing := faultfs.Missing(); missing != "" {
		promise.Left(t, "needs "+missing, ids...)
	}
}

// conversations are those of every test that appends.
var conversations = []string{"one", "two"}

// prepare returns a directory of data with the conversations, in which each of writers has a seat,
// and no hub.
func prepare(t *testing.T, writers ...string) string {
	t.Helper()
	dir := t.TempDir()
	h := program.Start(t, dir)
	create(t, h, writers...)
	h.Stop(t)
	return dir
}

// create makes the conversations.
func create(t *testing.T, h *hubproc.Hub, writers ...string) {
	t.Helper()
	c := mustDial(t, h)
	defer c.Close()
	for _, id := range conversations {
		p := parley.CreateConversationParams{
			ConversationID: id, Policy: &parley.Policy{Kind: parley.PolicyOpen},
			Limits: &parley.Limits{MaxEvents: parley.MaxEventsLimit, MaxBytes: parley.MaxBytesLimit},
		}
		for _, w := range writers {
			p.Participants = append(p.Participants, parley.Participant{ID: w, Kind: parley.KindAgent})
		}
		c.must(t, methods.CreateConversation, p, &parley.Snapshot{})
	}
}

// copyDir copies data into a directory that is made.
func copyDir(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}
