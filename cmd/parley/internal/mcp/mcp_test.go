package mcp

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	protocol "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
)

// TestMCPWhileTheHubIsDown: a call over stdio whose hub has been killed ends in its time. A wait
// has timed out, and everything else says that the hub is not there.
func TestMCPWhileTheHubIsDown(t *testing.T) {
	t.Parallel() // it waits until calls have timed out
	if testing.Short() {
		t.Skip("it waits until calls have timed out")
	}
	const root = "plt_root_of_this_test"
	hub, first, _ := clitest.StartHub(t, []string{cli.EnvDevToken + "=" + root}, "--dev")
	cmd := exec.Command("parley", "mcp", "--max-wait", "1s")
	cmd.Env = append(os.Environ(), cli.EnvURL+"="+first.URL, cli.EnvToken+"="+root)
	s, err := protocol.NewClient(&protocol.Implementation{Name: "test-ide", Version: "1"}, nil).Connect(t.Context(),
		&protocol.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, refused, err := clitest.CallTool(t.Context(), s, "list_conversations", nil); refused || err != nil {
		t.Fatalf("while the hub is there: %v, %v", refused, err)
	}
	hub.Process.Kill()
	hub.Wait() // it was killed
	type end struct {
		text    string
		refused bool
		err     error
	}
	ends := map[string]chan end{}
	for name, args := range map[string]map[string]any{
		"wait_for_updates":   {"conversation_id": "con_1", "since_seq": 3, "wait_seconds": 50},
		"post_message":       {"conversation_id": "con_1", "since_seq": 3, "text": "hello"},
		"list_conversations": nil,
	} {
		ended := make(chan end, 1)
		ends[name] = ended
		go func() {
			text, refused, err := clitest.CallTool(t.Context(), s, name, args)
			ended <- end{text, refused, err}
		}()
	}
	for name, ended := range ends {
		select {
		case e := <-ended:
			if e.err != nil || e.refused != (name != "wait_for_updates") ||
				!strings.Contains(e.text, "he hub cannot be reached at the moment") {
				t.Errorf("%s: %q, %v, %v", name, e.text, e.refused, e.err)
			}
		case <-time.After(clitest.Patience):
			t.Fatalf("%s is not answered", name)
		}
	}
}
