// Package worktest runs agents of every kind against a real hub, for the tests of the packages below
// executors. It is not below executors itself, because it needs the sdk:
//
//	w := worktest.New(t)
//	w.Serve(worktest.Mux{"echo": agent}, agent.Blueprint())
//	s := w.Start("echo", `{"text": "hello"}`)
package worktest

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/sdk"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// Patience is how long a test waits for an event that must come. Only a program that hangs takes that long.
const Patience = 3 * time.Minute

// World is a real hub, a runner of agents on a socket, and a person named ann.
type World struct {
	*testing.T
	Hub *sdktest.Hub
	Ann parley.Client
	// Client is the client of the runner of the last Serve, and Stop stops that runner.
	Client parley.Client
	Stop   func()
	// Room is the capacity of the runners that Serve starts; 0 means the default.
	Room int
}

// New returns a world, which ends with the test.
func New(t *testing.T) *World {
	t.Helper()
	w := &World{T: t, Hub: sdktest.NewHub(t)}
	w.Ann = w.Hub.Client(t, "ann")
	return w
}

// Mux maps the names of agents to agents.
type Mux map[string]parley.Agent

// HandleTurn passes a turn to its agent.
func (m Mux) HandleTurn(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
	name, _, _ := strings.Cut(turn.Agent, "@")
	return m[name].HandleTurn(ctx, turn)
}

// Serve runs agents, in sessions and at seats, until the test ends or Stop is called.
func (w *World) Serve(all Mux, blueprints ...parley.Blueprint) {
	w.Helper()
	names := []string{}
	for _, b := range blueprints {
		names = append(names, b.Name)
	}
	p := &parley.CreateTokenParams{AgentID: "runner", Agents: names, Scopes: parley.DefaultScopes}
	token, err := w.Hub.Admin(w.T).CreateToken(w.Context(), p)
	if err != nil {
		w.Fatal(err)
	}
	client := w.Hub.Dial(w.T, &sdk.Options{Token: token.Token, AgentID: "runner"})
	registered := make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- executors.Run(ctx, client, all, &executors.Options{
			Agents: names, Blueprints: blueprints, ExecutorID: "box", Capacity: w.Room,
			Drain: -1, MinBackoff: time.Millisecond, Grace: 50 * time.Millisecond,
			Registered: func(*parley.RegisterBlueprintsResult) { registered <- struct{}{} },
		})
	}()
	w.Client = client
	w.Stop = func() {
		cancel()
		<-ended
		ended <- nil
	}
	w.Cleanup(w.Stop)
	select {
	case <-registered:
	case err := <-ended:
		w.Fatal("Run returned: ", err)
	case <-time.After(Patience):
		w.Fatal("the hub does not know the blueprints")
	}
}

// Start starts a session, waits for its end and returns it.
func (w *World) Start(agent, parameters string) *parley.Session {
	w.Helper()
	s, err := w.Ann.StartSession(w.Context(), &parley.StartSessionParams{
		AgentName: agent, Parameters: json.RawMessage(parameters), TimeoutMs: Patience.Milliseconds(),
	})
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// Create creates a conversation of ann and tools, in which triggers assign the turns.
func (w *World) Create(tools ...string) string {
	w.Helper()
	p := &parley.CreateConversationParams{
		Participants: []parley.Participant{{ID: "ann", Kind: parley.KindHuman}},
		Policy:       &parley.Policy{Kind: parley.PolicyTriggers},
	}
	for _, id := range tools {
		p.Participants = append(p.Participants, parley.Participant{ID: id, Kind: parley.KindTool})
	}
	s, err := w.Ann.CreateConversation(w.Context(), p)
	if err != nil {
		w.Fatal(err)
	}
	return s.ConversationID
}

// Note posts a note of ann and returns its seq.
func (w *World) Note(conversation, schema, data string) int64 {
	w.Helper()
	r, err := w.Ann.SendNote(w.Context(), &parley.SendNoteParams{
		ConversationID: conversation, Payload: parley.Note{Schema: schema, Data: json.RawMessage(data)},
	})
	if err != nil {
		w.Fatal(err)
	}
	return r.Seq
}

// Say sends a message of ann that ends the turn, and returns its seq.
func (w *World) Say(conversation string, m parley.Message) int64 {
	w.Helper()
	payload, err := json.Marshal(m)
	if err != nil {
		w.Fatal(err)
	}
	r, err := w.Ann.SendMessage(w.Context(), &parley.SendMessageParams{
		ConversationID: conversation, Payload: payload, Finality: parley.FinalityTurn,
	})
	if err != nil {
		w.Fatal(err)
	}
	return r.Seq
}

// Until waits for n events after a seq for which wanted is true, and returns them.
func (w *World) Until(
	conversation string, since int64, n int, wanted func(*parley.Event) bool,
) (found []parley.Event) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), Patience)
	defer cancel()
	p := &parley.SubscribeParams{ConversationID: conversation, SinceSeq: since}
	for e, err := range w.Hub.Admin(w.T).Subscribe(ctx, p) {
		if err != nil {
			w.Fatalf("got %d of %d events: %v", len(found), n, err)
		}
		if e.Event == nil || !wanted(e.Event) {
			continue
		}
		if found = append(found, *e.Event); len(found) == n {
			break
		}
	}
	return found
}

// Answers waits for n messages of tools after a seq, and returns them.
func (w *World) Answers(conversation string, since int64, n int) (said []parley.Message) {
	w.Helper()
	ofTools := func(e *parley.Event) bool { return e.Type == parley.TypeMessage && e.From != "ann" }
	for _, e := range w.Until(conversation, since, n, ofTools) {
		m, err := e.Message()
		if err != nil {
			w.Fatal(err)
		}
		said = append(said, m)
	}
	return said
}

// Indent returns v as indented JSON, for failures of tests.
func Indent(v any) string {
	b, _ := json.MarshalIndent(v, "", "  ")
	return string(b)
}
