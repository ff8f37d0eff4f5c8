// Package worktest runs agents of every kind against a real hub, for the tests of what makes them.
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
	// Client is the runner's, and Stop stops the runner: of the last Serve.
	Client parley.Client
	Stop   func()
	// Room is the capacity of runners to come; 0, the default.
	Room int
}

// New makes a world, which ends with the test.
func New(t *testing.T) *World {
	t.Helper()
	w := &World{T: t, Hub: sdktest.NewHub(t)}
	w.Ann = w.Hub.Client(t, "ann")
	return w
}

// Mux gives turns to agents by their names.
type Mux map[string]parley.Agent

// HandleTurn gives a turn to its agent.
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
	token, err := w.Hub.Admin(w.T).CreateToken(w.Context(), &parley.CreateTokenParams{AgentID: "runner", Agents: names, Scopes: parley.DefaultScopes})
	if err != nil {
		w.Fatal(err)
	}
	client := w.Hub.Dial(w.T, &sdk.Options{Token: token.Token, AgentID: "runner"})
	registered := make(chan struct{}, 100)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- executors.Run(ctx, client, all, &executors.Options{
			Agents: names, Blueprints: blueprints, ExecutorID: "box", Capacity: w.Room, Drain: -1, MinBackoff: time.Millisecond, Grace: 50 * time.Millisecond,
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
		w.Fatal("Run has ended: ", err)
	case <-time.After(Patience):
		w.Fatal("the hub does not know the blueprints")
	}
}

// Start starts a session and gives it when it has ended.
func (w *World) Start(agent, parameters string) *parley.Session {
	w.Helper()
	s, err := w.Ann.StartSession(w.Context(), &parley.StartSessionParams{AgentName: agent, Parameters: json.RawMessage(parameters), TimeoutMs: Patience.Milliseconds()})
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// Create makes a conversation of ann and tools, in which triggers give the turns.
func (w *World) Create(tools ...string) string {
	w.Helper()
	p := &parley.CreateConversationParams{Participants: []parley.Participant{{ID: "ann", Kind: parley.KindHuman}}, Policy: &parley.Policy{Kind: parley.PolicyTriggers}}
	for _, id := range tools {
		p.Participants = append(p.Participants, parley.Participant{ID: id, Kind: parley.KindTool})
	}
	s, err := w.Ann.CreateConversation(w.Context(), p)
	if err != nil {
		w.Fatal(err)
	}
	return s.ConversationID
}

// Note posts one.
func (w *World) Note(conversation, schema, data string) int64 {
	w.Helper()
	r, err := w.Ann.SendNote(w.Context(), &parley.SendNoteParams{ConversationID: conversation, Payload: parley.Note{Schema: schema, Data: json.RawMessage(data)}})
	if err != nil {
		w.Fatal(err)
	}
	return r.Seq
}

// Say says something that ends a turn.
func (w *World) Say(conversation string, m parley.Message) int64 {
	w.Helper()
	payload, err := json.Marshal(m)
	if err != nil {
		w.Fatal(err)
	}
	r, err := w.Ann.SendMessage(w.Context(), &parley.SendMessageParams{ConversationID: conversation, Payload: payload, Finality: parley.FinalityTurn})
	if err != nil {
		w.Fatal(err)
	}
	return r.Seq
}

// Until waits for so many events after a seq that a test wants.
func (w *World) Until(conversation string, since int64, n int, wanted func(*parley.Event) bool) (found []parley.Event) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), Patience)
	defer cancel()
	for e, err := range w.Hub.Admin(w.T).Subscribe(ctx, &parley.SubscribeParams{ConversationID: conversation, SinceSeq: since}) {
		if err != nil {
			w.Fatalf("%d of %d have come: %v", len(found), n, err)
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

// Answers waits for messages of tools.
func (w *World) Answers(conversation string, since int64, n int) (said []parley.Message) {
	w.Helper()
	for _, e := range w.Until(conversation, since, n, func(e *parley.Event) bool { return e.Type == parley.TypeMessage && e.From != "ann" }) {
		m, err := e.Message()
		if err != nil {
			w.Fatal(err)
		}
		said = append(said, m)
	}
	return said
}

// Indent writes what a test found, for people.
func Indent(v any) string {
	b, _ := json.MarshalIndent(v, "", "  ")
	return string(b)
}
