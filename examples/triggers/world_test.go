// Package triggers_test runs the agents of this directory: a hub and a runner, each a process, with
// a page and a user who speak to them over sockets. Models are scripts, so it needs no network.
package triggers_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/sdk"
)

// patience bounds what is waited for: the tool is compiled when it is asked for first.
const patience = 2 * time.Minute

var program hubproc.Program

func TestMain(m *testing.M) {
	os.Exit(hubproc.Main(m, func(p hubproc.Program) { program = p }))
}

// stage is a hub, a runner of the agents of a directory, a user and a page.
type stage struct {
	t     *testing.T
	hub   *hubproc.Hub
	who   map[string]*sdk.Client
	admin *sdk.Client
}

// newStage starts a hub and a runner, which has the agents of a directory and takes their seats
// too.
func newStage(t *testing.T, dir string, agents ...string) *stage {
	t.Helper()
	if testing.Short() {
		t.Skip("short: processes left out")
	}
	s := &stage{t: t, hub: program.Start(t, t.TempDir()), who: map[string]*sdk.Client{}}
	s.admin = s.dial(hubproc.Token, "root")
	for _, id := range []string{"ann", "page"} {
		s.who[id] = s.dial(s.token(id), id)
	}
	args := []string{"--blueprints", dir, "--runner", "garden"}
	for _, a := range agents {
		args = append(args, "--agent", a)
	}
	program.Runner(t, s.hub, s.token(append([]string{"garden"}, agents...)...), args...)
	s.await(func() bool { return s.online() == len(agents) })
	return s
}

func (s *stage) token(agents ...string) string {
	s.t.Helper()
	made, err := s.admin.CreateToken(s.t.Context(), &parley.CreateTokenParams{AgentID: agents[0], Agents: agents, Scopes: parley.DefaultScopes})
	if err != nil {
		s.t.Fatal(err)
	}
	return made.Token
}

func (s *stage) dial(token, as string) *sdk.Client {
	s.t.Helper()
	c, err := sdk.Dial(s.t.Context(), s.hub.URL, &sdk.Options{Token: token, AgentID: as})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = c.Close() })
	return c
}

// online counts the agents of the runner.
func (s *stage) online() (n int) {
	r, err := s.admin.ListAgents(s.t.Context(), &parley.ListAgentsParams{})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, a := range r.Agents {
		if a.RunnerID == "garden" && a.Online {
			n++
		}
	}
	return n
}

// await polls for something that a process does.
func (s *stage) await(there func() bool) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), patience)
	defer cancel()
	for !there() {
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			s.t.Fatal("it does not come")
		}
	}
}

// begin makes a conversation of ann, a page and two agents, given as id:kind.
func (s *stage) begin(agents ...string) string {
	s.t.Helper()
	p := &parley.CreateConversationParams{
		Policy: &parley.Policy{Kind: parley.PolicyTriggers}, StartsWith: "ann",
		Participants: []parley.Participant{{ID: "ann", Kind: parley.KindHuman}, {ID: "page", Kind: parley.KindPeer}},
	}
	for _, a := range agents {
		id, kind, _ := strings.Cut(a, ":")
		p.Participants = append(p.Participants, parley.Participant{ID: id, Kind: parley.ParticipantKind(kind)})
	}
	c, err := s.who["ann"].CreateConversation(s.t.Context(), p)
	if err != nil {
		s.t.Fatal(err)
	}
	return c.ConversationID
}

func (s *stage) note(c, as, schema, data string) int64 {
	s.t.Helper()
	r, err := s.who[as].SendNote(s.t.Context(), &parley.SendNoteParams{ConversationID: c, Payload: parley.Note{Schema: schema, Data: json.RawMessage(data)}})
	if err != nil {
		s.t.Fatal(err)
	}
	return r.Seq
}

func (s *stage) say(c, as string, m parley.Message) int64 {
	s.t.Helper()
	payload, err := json.Marshal(m)
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := s.who[as].SendMessage(s.t.Context(), &parley.SendMessageParams{ConversationID: c, Payload: payload,
		Finality: parley.FinalityTurn})
	if err != nil {
		s.t.Fatal(err)
	}
	return r.Seq
}

// events are those after a seq, as an admin sees them.
func (s *stage) events(c string, since int64) []parley.Event {
	s.t.Helper()
	page, err := s.admin.Tail(s.t.Context(), &parley.TailParams{ConversationID: c, SinceSeq: since, Limit: parley.MaxPage})
	if err != nil {
		s.t.Fatal(err)
	}
	return page.Events
}

// event waits for the first one after a seq that is meant.
func (s *stage) event(c string, since int64, meant func(*parley.Event) bool) (found parley.Event) {
	s.t.Helper()
	s.await(func() bool {
		for _, e := range s.events(c, since) {
			if meant(&e) {
				found = e
				return true
			}
		}
		return false
	})
	return found
}

// answers waits for so many notes that answer an event.
func (s *stage) answers(c string, asked int64, n int) (all []parley.Event) {
	s.t.Helper()
	s.await(func() bool {
		all = nil
		for _, e := range s.events(c, asked) {
			if sys, err := e.System(); e.Type == parley.TypeSystem && err == nil && sys.Kind == parley.KindNote &&
				e.Cause != nil && e.Cause.Seq == asked {
				all = append(all, e)
			}
		}
		return len(all) >= n
	})
	return all
}

// answer waits for the one note that answers an event, and reads it.
func (s *stage) answer(c string, asked int64, schema string, into *parley.Answer) parley.Event {
	s.t.Helper()
	e := s.answers(c, asked, 1)[0]
	sys, err := e.System()
	*into = parley.Answer{}
	if err != nil || json.Unmarshal(sys.Data, into) != nil || sys.Schema != schema || into.TriggerSeq != asked {
		s.t.Fatalf("the answer to seq %d is %s (%v), expected a %s", asked, e.Payload, err, schema)
	}
	return e
}

// result returns the result of a session.
func (s *stage) result(id string) string {
	s.t.Helper()
	v, err := s.admin.GetSession(s.t.Context(), &parley.GetSessionParams{SessionID: id})
	if err != nil {
		s.t.Fatal(err)
	}
	if v.Result == nil || v.Result.ResultText == nil {
		s.t.Fatalf("%s has no text: %+v", id, v)
	}
	return *v.Result.ResultText
}

func (s *stage) explain(c string, seq int64) *parley.ExplainTriggersResult {
	s.t.Helper()
	r, err := s.who["ann"].ExplainTriggers(s.t.Context(), &parley.ExplainTriggersParams{ConversationID: c, Seq: seq})
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}
