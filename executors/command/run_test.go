//go:build linux

package command_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/executors/command"
	"github.com/parleyhub/parley/sdk"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// seats creates a conversation with a message of ann, in which the agent bot has the floor and
// needs claims.
func addsParticipant(t *testing.T) *stage {
	t.Helper()
	h := sdktest.NewHub(t)
	s := &stage{hub: h, client: h.InProcess(t, "bot")}
	s.create(t)
	return s
}

func (s *stage) create(t *testing.T) {
	t.Helper()
	c, err := s.hub.Admin(t).CreateConversation(t.Context(), &parley.CreateConversationParams{
		Participants: []parley.Participant{{ID: "ann", Kind: parley.KindHuman},
			{ID: "bot", Kind: parley.KindAgent, Private: "for bot"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.id = c.ConversationID
	s.say(t, "hello")
}

func (s *stage) say(t *testing.T, text string) {
	t.Helper()
	payload, _ := json.Marshal(parley.Message{Text: text})
	if _, err := s.hub.InProcess(t, "ann").SendMessage(t.Context(), &parley.SendMessageParams{
		ConversationID: s.id, Payload: payload, Finality: parley.FinalityTurn,
	}); err != nil {
		t.Fatal(err)
	}
}

// serveBot takes the turns of bot over a WebSocket until the test ends.
func (s *stage) serveBot(t *testing.T, a *command.Agent) {
	t.Helper()
	s.serve(t, s.hub.Client(t, "bot"), a, "bot")
}

func (s *stage) serve(t *testing.T, c parley.Client, a *command.Agent, agents ...string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- executors.Run(ctx, c, a, &executors.Options{Agents: agents, Drain: -1, Grace: 2 * command.StopWait})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// answered waits for the next turn of ann, and returns the messages.
func (s *stage) answered(t *testing.T) []string {
	t.Helper()
	ann := s.hub.InProcess(t, "ann")
	if u, err := ann.GetUpdates(t.Context(), &parley.GetUpdatesParams{
		ConversationID: s.id, Until: parley.UntilMyTurn, TimeoutMs: 15_000,
	}); err != nil || u.TimedOut {
		t.Fatalf("no answer came: %v", err)
	}
	turn := &parley.Turn{ConversationID: s.id, Client: ann}
	events, err := turn.Messages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, e := range events {
		m, err := e.Message()
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, m.Text)
	}
	return texts
}

// The messages of a program that failed are withdrawn, and the next attempt gets them as such.
func TestAttempts(t *testing.T) {
	t.Parallel()
	s := addsParticipant(t)
	dir := t.TempDir()
	s.serveBot(t, program(t, "retry", dir))
	if got := s.answered(t); !slices.Equal(got, []string{"hello", "found all of it"}) {
		t.Errorf("posted %q", got)
	}
	for attempt, want := range map[int]struct{ messages, earlier []string }{
		1: {[]string{"hello"}, nil},
		2: {[]string{"hello"}, []string{"found half of it", "why it fails", "the program has failed: exit status 9"}},
	} {
		text, err := os.ReadFile(filepath.Join(dir, strconv.Itoa(attempt)))
		var d command.Document
		if err != nil || json.Unmarshal(text, &d) != nil {
			t.Fatalf("attempt %d: %v", attempt, err)
		}
		var any any
		_ = json.Unmarshal(text, &any) // it was read above
		if err := schema(t, "command-input.schema.json").Validate(any); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
		if got := texts(t, d.Messages); !slices.Equal(got, want.messages) {
			t.Errorf("attempt %d gets the messages %q", attempt, got)
		}
		if got := texts(t, d.Earlier); !slices.Equal(got, want.earlier) {
			t.Errorf("attempt %d gets %q of earlier attempts", attempt, got)
		}
		if d.Conversation.Private != "for bot" || d.Conversation.You != "bot" || d.Turn != 2 || d.Guidance.Claim == nil {
			t.Errorf("attempt %d gets %s", attempt, text)
		}
	}
}

// texts returns the text of messages and traces.
func texts(t *testing.T, events []parley.Event) (all []string) {
	t.Helper()
	for _, e := range events {
		var payload struct{ Text string }
		if err := json.Unmarshal(e.Payload, &payload); err != nil {
			t.Fatal(err)
		}
		all = append(all, payload.Text)
	}
	return all
}

// A program that posts nothing or only a part makes a silent attempt.
func TestSilent(t *testing.T) {
	t.Parallel()
	s := addsParticipant(t)
	s.serveBot(t, program(t, "lines", "0"))
	ended := s.system(t, parley.KindClaimEnded)
	if ended.Reason != string(parley.ClaimSilent) {
		t.Errorf("the claim ended with %q", ended.Reason)
	}
}

// A yielded turn is not a failed attempt.
func TestYield(t *testing.T) {
	t.Parallel()
	s := addsParticipant(t)
	s.serveBot(t, program(t, "lines", "0", `{\"progress\":\"one moment\"}\n{\"yield\":true}\n`))
	if ended := s.system(t, parley.KindTurnEnded); ended.Reason != string(parley.TurnYielded) {
		t.Errorf("the turn ended with %q", ended.Reason)
	}
	if got := s.answered(t); !slices.Equal(got, []string{"hello", "one moment"}) {
		t.Errorf("posted %q", got)
	}
}

// system waits for a system event of a kind.
func (s *stage) system(t *testing.T, kind string) parley.System {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for e, err := range s.hub.InProcess(t, "ann").Events(ctx, s.id, 0) {
		if err != nil {
			t.Fatalf("no %s came: %v", kind, err)
		}
		if e.Type != parley.TypeSystem {
			continue
		}
		if payload, err := e.System(); err == nil && payload.Kind == kind {
			return payload
		}
	}
	t.Fatalf("no %s came", kind)
	return parley.System{}
}

// A program can use its token instead of stdout. The token is valid only for its own conversation
// and turn.
func TestTokenOfTheTurn(t *testing.T) {
	t.Parallel()
	s := addsParticipant(t)
	s.create(t) // the token does not cover the first conversation
	file := filepath.Join(t.TempDir(), "token")
	a := program(t, "byItself", file)
	a.URL = s.hub.URL
	s.serveBot(t, a)
	if got := s.answered(t); !slices.Equal(got, []string{"hello", "bot sees 1 conversation"}) {
		t.Errorf("posted %q", got)
	}
	token, err := os.ReadFile(file)
	if err != nil || len(token) == 0 {
		t.Fatal(err)
	}
	await(t, func() bool { // its own message just ended the claim
		c, err := sdk.Dial(t.Context(), s.hub.URL, &sdk.Options{Token: string(token)})
		if err == nil {
			c.Close()
		}
		return errors.Is(err, parley.ErrUnauthenticated)
	})
	for _, e := range s.events(t, parley.TypeSystem) {
		if payload, err := e.System(); err == nil && payload.Kind == parley.KindClaimEnded {
			t.Errorf("the claim was released: %s", e.Raw())
		}
	}
}

// A program whose turn is lost is stopped.
func TestTurnCanceled(t *testing.T) {
	t.Parallel()
	s := addsParticipant(t)
	dir := t.TempDir()
	s.serveBot(t, program(t, "hang", dir, "stubborn"))
	await(t, func() bool { return noted(dir) == 2 })
	if _, err := s.hub.InProcess(t, "ann").CancelTurn(t.Context(),
		&parley.CancelTurnParams{ConversationID: s.id, Turn: 2}); err != nil {
		t.Fatal(err)
	}
	noneLeft(t, dir)
}

// One executor runs both agents of a conversation. Each gets its own document.
func TestTwoAgents(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	c, err := h.Admin(t).CreateConversation(t.Context(), &parley.CreateConversationParams{
		Participants: []parley.Participant{
			{ID: "ann", Kind: parley.KindHuman},
			{ID: "bot", Kind: parley.KindAgent, Private: "one"},
			{ID: "cat", Kind: parley.KindAgent, Private: "two"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{hub: h, id: c.ConversationID}
	token, err := h.Admin(t).CreateToken(t.Context(),
		&parley.CreateTokenParams{AgentID: "bot", Agents: []string{"cat"}, Scopes: parley.DefaultScopes})
	if err != nil {
		t.Fatal(err)
	}
	s.serve(t, h.Dial(t, &sdk.Options{Token: token.Token}), program(t, "answer"), "bot", "cat")
	s.say(t, "hello")
	if got := s.answered(t); !slices.Equal(got, []string{"hello", "bot was told one", "cat was told two"}) {
		t.Errorf("posted %q", got)
	}
}

// A killed hub does not affect a running program.
func TestHubStartedAgain(t *testing.T) {
	t.Parallel()
	s := addsParticipant(t)
	file := filepath.Join(t.TempDir(), "go-on")
	s.serveBot(t, program(t, "patient", file))
	await(t, func() bool { return len(s.events(t, parley.TypeMessage)) == 2 })
	s.hub.Restart(t)
	s.client = s.hub.InProcess(t, "bot")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := s.answered(t); !slices.Equal(got, []string{"hello", "begun", "finished"}) {
		t.Errorf("posted %q", got)
	}
}

// No process is left after the process that runs programs is killed by SIGKILL.
func TestKilledRunner(t *testing.T) {
	t.Parallel()
	s := addsParticipant(t)
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var errs strings.Builder
	cmd := exec.Command(self, "program", "runner", s.hub.URL, s.hub.NewToken(t, "bot"), dir)
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, func() bool { return noted(dir) == 1 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait() // it was killed
	noneLeft(t, dir)
	if t.Failed() {
		t.Log(errs.String())
	}
}
