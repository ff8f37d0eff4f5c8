package chat

import (
	"io"
	"testing"

	"github.com/creack/pty"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
)

// TestChatPrompts: on a terminal there is a prompt when it is one's turn, and another when it is
// not; a line that comes too late is not said.
func TestChatPrompts(t *testing.T) {
	t.Parallel()
	s := clitest.OpenHub(t)
	ann := s.Client(s.LocalPrincipal("ann"))
	_, err := ann.CreateConversation(t.Context(), &parley.CreateConversationParams{
		ConversationID: "c1",
		Participants:   []parley.Participant{{ID: "ann", Kind: parley.KindHuman}, {ID: "bob", Kind: parley.KindHuman}},
	})
	if err != nil {
		t.Fatal(err)
	}
	keyboard, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer keyboard.Close()
	defer tty.Close()
	out := newScreen()
	a := &cli.App{In: tty, Out: cli.NewStream(out), Err: cli.NewStream(io.Discard), Timeout: cli.DefaultTimeout}
	a.Out.Terminal = true
	d, err := openTerminal(a, "ann")
	if err != nil || d.queues {
		t.Fatalf("no terminal: %v", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- newChat(a, ann, d, "c1").run(t.Context()) }()
	for _, step := range []struct{ shows, types string }{
		{"ann> ", "good evening\r"},
		{"t1   ann  good evening", ""},
		{"-- waiting for bob: ", "and too late\r"},
		{"not said, it is not your turn: waiting for bob", "/quit\r"},
	} {
		out.wait(step.shows)
		if _, err := io.WriteString(keyboard, step.types); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if err := d.close(); err != nil {
		t.Error(err)
	}
}
