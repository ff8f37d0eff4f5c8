//go:build linux

package command_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/command"
	"github.com/parleyhub/parley/executors/process"
	"github.com/parleyhub/parley/internal/schematest"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// TestMain runs the tests, or one of the programs of the tests: "program NAME ARGS...".
func TestMain(m *testing.M) {
	process.Supervise()
	if len(os.Args) > 2 && os.Args[1] == "program" {
		syscall.Exit(programs[os.Args[2]](os.Args[3:])) // at once, because the normal exit takes a second with the race detector
	}
	if err := openUnmarked(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// unmarkedFile is in the name of a file that these tests open without close-on-exec. A process may
// inherit such a file.
const unmarkedFile = "parley-unmarked"

func openUnmarked() error {
	f, err := os.CreateTemp("", unmarkedFile)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := os.Remove(f.Name()); err != nil {
		return err
	}
	_, err = syscall.Dup(int(f.Fd()))
	return err
}

// program returns an agent that runs a program of these tests.
func program(t *testing.T, name string, args ...string) *command.Agent {
	t.Helper()
	if programs[name] == nil {
		t.Fatalf("no program %s", name)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &command.Agent{Argv: append([]string{self, "program", name}, args...)}
}

// stage is a conversation of ann and bob at a real hub, in which ann has the floor. The seats need
// no claims, so a test can create a turn directly.
type stage struct {
	hub    *sdktest.Hub
	id     string
	client parley.Client
}

func newStage(t *testing.T) *stage {
	t.Helper()
	h := sdktest.NewHub(t)
	s, err := h.Admin(t).CreateConversation(t.Context(), &parley.CreateConversationParams{
		Title:    "a case",
		Metadata: json.RawMessage(`{"case":7}`),
		Participants: []parley.Participant{
			{ID: "ann", Kind: parley.KindHuman, Private: "what ann knows"},
			{ID: "bob", Kind: parley.KindHuman, Private: "what bob knows"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &stage{hub: h, id: s.ConversationID, client: h.InProcess(t, "ann")}
}

func (s *stage) turn(number int64) *parley.Turn {
	return &parley.Turn{
		ConversationID: s.id, AgentID: "ann", Agent: "ann", Number: number, Attempt: 1, Key: "attempt", Client: s.client,
		Deadline: time.Now().Add(time.Minute),
	}
}

// patience is how long a test waits for an event that must happen.
const patience = 3 * time.Minute

// handle calls an agent for turn 1. It must return before the programs of the tests end.
func (s *stage) handle(t *testing.T, ctx context.Context, a *command.Agent) (parley.TurnOutcome, error) {
	t.Helper()
	began := time.Now()
	outcome, err := a.HandleTurn(ctx, s.turn(1))
	if took := time.Since(began); took > patience {
		t.Errorf("the turn took %s", took)
	}
	return outcome, err
}

// events returns all events of a type.
func (s *stage) events(t *testing.T, kind parley.EventType) (found []parley.Event) {
	t.Helper()
	for since := int64(0); ; {
		page, err := s.client.Tail(t.Context(),
			&parley.TailParams{ConversationID: s.id, SinceSeq: since, Limit: parley.MaxPage})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range page.Events {
			if e.Type == kind {
				found = append(found, e)
			}
		}
		if page.NextSeq >= page.LatestSeq {
			return found
		}
		since = page.NextSeq
	}
}

// said returns the texts of the messages, each after its finality.
func (s *stage) said(t *testing.T) (texts []string) {
	t.Helper()
	for _, e := range s.events(t, parley.TypeMessage) {
		m, err := e.Message()
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(e.Finality)+" "+m.Text)
	}
	return texts
}

// traces returns the texts of the traces of a kind.
func (s *stage) traces(t *testing.T, kind string) (texts []string) {
	t.Helper()
	for _, e := range s.events(t, parley.TypeTrace) {
		var tr parley.Trace
		if err := json.Unmarshal(e.Payload, &tr); err != nil {
			t.Fatal(err)
		}
		if tr.Kind == kind {
			texts = append(texts, tr.Text)
		}
	}
	return texts
}

// schema compiles a schema in docs.
func schema(t testing.TB, name string) *jsonschema.Schema {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return schematest.Compile(t, text)
}
