package torture

import (
	"bytes"
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/promise"
)

// secondHubs is how many hubs try to open the directory of another.
const secondHubs = 8

// TestSecondHub checks that a directory has only one hub. Each other hub fails soon with an error,
// and the first one continues.
func TestSecondHub(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	h := program.Start(t, dir)
	_, ws := createSeats(t, h)
	c, err := dial(h, ws[0].id)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	refused := make(chan string, secondHubs)
	for range secondHubs {
		go func() { refused <- secondHub(t.Context(), dir) }()
	}
	said := 0
	for range secondHubs {
		if err := sayOne(c, ws[0]); err != nil {
			t.Errorf("the first hub: %v", err)
		}
		said++
		if message := <-refused; message != "" {
			t.Error(message)
		}
	}
	if err := sayOne(c, ws[0]); err != nil {
		t.Errorf("the first hub, after all others: %v", err)
	}
	h.Stop(t)
	promise.ID(16).Kept(t, promise.Tried{Faults: secondHubs, Operations: said + 1, Violations: promise.Broken(t)})
}

// startLimit detects a hub that hangs instead of ending.
const startLimit = 5 * time.Minute

// secondHub starts a hub on a directory that another has, and returns what is wrong with how that
// ended; empty: nothing.
func secondHub(ctx context.Context, dir string) string {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, string(program), hubproc.ServeArgs("--dev", "--listen", "127.0.0.1:0", "--data",
		dir)...)
	cmd.Stderr = &stderr
	if err := hubproc.Run(cmd); err == nil || ctx.Err() != nil {
		return "a second hub on the same directory has not been refused: " + stderr.String()
	}
	if !strings.Contains(stderr.String(), "in use") {
		return "a second hub was refused with other words than that the directory is in use: " + stderr.String()
	}
	return ""
}

// sayOne appends one message.
func sayOne(c *hubproc.Caller[struct{}], w *writer) error {
	var r parley.SendResult
	err := c.Call(methods.SendMessage, parley.SendMessageParams{
		ConversationID: w.conversation, Payload: []byte(`{"text":"here"}`), Finality: parley.FinalityTurn,
		ClientRequestID: w.key(len(w.acked)),
	}, &r)
	w.acked = append(w.acked, r.Seq)
	return err
}
