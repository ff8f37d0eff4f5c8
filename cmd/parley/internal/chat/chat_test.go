package chat

import (
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
)

// screen is a stdout on which a test waits for a text.
type screen struct {
	mu    sync.Mutex // guards the fields below
	text  strings.Builder
	wrote *sync.Cond
}

func newScreen() *screen {
	s := &screen{}
	s.wrote = sync.NewCond(&s.mu)
	return s
}

func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrote.Broadcast()
	return s.text.Write(b)
}

// wait returns when text was written. A test in which that never happens ends with its timeout.
func (s *screen) wait(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !strings.Contains(s.text.String(), text) {
		s.wrote.Wait()
	}
}

// startChat lets a client chat in c1: what it shows, where it is typed, and how it ends.
func startChat(t *testing.T, client parley.Client) (out *screen, typed io.WriteCloser, ended chan error) {
	stdin, typed := io.Pipe()
	out = newScreen()
	a := &cli.App{In: stdin, Out: cli.NewStream(out), Err: cli.NewStream(io.Discard), Timeout: cli.DefaultTimeout}
	ended = make(chan error, 1)
	go func() { ended <- newChat(a, client, newPipeTerminal(a), "c1").run(t.Context()) }()
	return out, typed, ended
}

// TestChatShowsDeltas: parts of another's message are shown before it is complete, made harmless.
// Parts of an own message are not.
func TestChatShowsDeltas(t *testing.T) {
	t.Parallel()
	s := clitest.OpenHub(t)
	bob, ann := s.Client(s.LocalPrincipal("bob")), s.Client(s.LocalPrincipal("ann"))
	_, err := bob.CreateConversation(t.Context(), &parley.CreateConversationParams{
		ConversationID: "c1",
		Participants:   []parley.Participant{{ID: "bob", Kind: parley.KindAgent}, {ID: "ann", Kind: parley.KindHuman}},
	})
	if err != nil {
		t.Fatal(err)
	}
	out, typed, ended := startChat(t, ann)
	out.wait("-- waiting for bob: ")
	err = bob.SendDelta(t.Context(),
		&parley.SendDeltaParams{ConversationID: "c1", Turn: 1, Index: 0, Text: "good mor\x1b[2J"})
	if err != nil {
		t.Fatal(err)
	}
	out.wait("bob is saying: good mor\\x1b[2J\n")
	_, err = bob.SendMessage(t.Context(), &parley.SendMessageParams{
		ConversationID: "c1", Turn: 1, Payload: json.RawMessage(`{"text":"good morning"}`), Finality: parley.FinalityTurn,
	})
	if err != nil {
		t.Fatal(err)
	}
	out.wait("-- your turn (turn 2): ")
	io.WriteString(typed, "morning\n")
	out.wait("t2   ann  morning\n")
	typed.Close()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}

// TestChatTellsOnce: a claim that is renewed is no news.
func TestChatTellsOnce(t *testing.T) {
	t.Parallel()
	s, out := clitest.OpenHub(t), newScreen()
	a := &cli.App{In: strings.NewReader(""), Out: cli.NewStream(out), Err: cli.NewStream(io.Discard)}
	c := newChat(a, s.Client(s.LocalPrincipal("ann")), newPipeTerminal(a), "c1")
	for _, deadline := range []int64{1000, 2000} {
		c.showGuidance(parley.GuidanceNotification{Seq: deadline, Guidance: parley.Guidance{
			Kind: parley.Wait, Speaker: "bob", Claim: &parley.ClaimState{AgentID: "bob", Attempt: 1, DeadlineMs: deadline},
			Reason: "because",
		}})
	}
	if got := out.text.String(); got != "-- waiting for bob, at work, attempt 1: because\n" || c.guidance.Seq != 2000 {
		t.Errorf("%q at %d", got, c.guidance.Seq)
	}
}

// TestChatShowsAttempts: a waiting person sees that an agent is at work, and that the messages of a
// failed attempt are withdrawn.
func TestChatShowsAttempts(t *testing.T) {
	t.Parallel()
	s := clitest.OpenHub(t)
	bob, ann := s.Client(s.LocalPrincipal("bob")), s.Client(s.LocalPrincipal("ann"))
	_, err := bob.CreateConversation(t.Context(), &parley.CreateConversationParams{
		ConversationID: "c1",
		Participants:   []parley.Participant{{ID: "bob", Kind: parley.KindAgent}, {ID: "ann", Kind: parley.KindHuman}},
	})
	if err != nil {
		t.Fatal(err)
	}
	out, typed, ended := startChat(t, ann)
	out.wait("-- waiting for bob: ")
	claim, err := bob.ClaimTurn(t.Context(), &parley.ClaimTurnParams{ConversationID: "c1", Turn: 1})
	if err != nil {
		t.Fatal(err)
	}
	out.wait("-- waiting for bob, at work, attempt 1: ")
	_, err = bob.SendMessage(t.Context(), &parley.SendMessageParams{
		ConversationID: "c1", Turn: 1, ClaimID: claim.ClaimID, Payload: json.RawMessage(`{"text":"let me see"}`),
		Finality: parley.FinalityNone,
	})
	if err != nil {
		t.Fatal(err)
	}
	out.wait("bob  let me see ...")
	p := &parley.ReleaseClaimParams{ConversationID: "c1", ClaimID: claim.ClaimID, Outcome: parley.ReleaseFailed,
		Reason: "error"}
	if err := bob.ReleaseClaim(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	out.wait("turn 1: the attempt failed: failed, error; what it said, #3, is withdrawn\n")
	typed.Close()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
}
