package fold_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/fold/idempotency"
)

var update = flag.Bool("update", false, "write the logs and golden files of testdata anew")

// story makes the log of a golden file. Each step is one command; steps are a second apart.
type story struct {
	t     *testing.T
	state fold.State
	keys  idempotency.Keys
	now   parley.Timestamp
	log   [][]byte
}

func (s *story) do(c fold.Command) *story {
	s.t.Helper()
	s.now += 1000
	c.Now = s.now
	if s.state.Claim != nil && c.From == s.state.Claim.AgentID && c.Named == nil {
		c.Named, c.Executor = &s.state.Claim.Hash, fold.Executor{ID: s.state.Claim.ExecutorID}
	}
	if n := c.NewClaim(); n != nil && n.New == (eventdata.ClaimHash{}) {
		n.New = eventdata.HashClaim(eventdata.ClaimID(s.state.CurrentTurn(), fmt.Sprint(s.state.Seq)))
	}
	d := fold.Decide(s.state, s.keys, c)
	if d.Err != nil && len(d.Events) == 0 {
		s.t.Fatalf("%+v: %v", c, d.Err)
	}
	for _, e := range d.Events {
		s.log = append(s.log, e.Data)
	}
	s.state = d.State
	return s
}

func (s *story) begin(policy parley.Policy, starts string, l *parley.Limits, seats ...parley.Participant) *story {
	q := &parley.CreateConversationParams{Participants: seats, Policy: &policy, StartsWith: starts, Limits: l}
	if err := check.Create(q); err != nil {
		s.t.Fatal(err)
	}
	return s.do(fold.Command{Do: &fold.Create{Params: q}, From: "maker"})
}

func (s *story) create(policy parley.PolicyKind, starts string, l *parley.Limits, seats ...parley.Participant) *story {
	return s.do(fold.Command{
		Do: &fold.Create{Params: &parley.CreateConversationParams{
			Participants: seats, Policy: &parley.Policy{Kind: policy}, StartsWith: starts, Limits: l,
		}},
		From: "maker",
	})
}

func (s *story) say(from string, f parley.Finality) *story {
	return s.do(fold.Command{From: from,
		Do: &fold.Message{Finality: f, Payload: json.RawMessage(`{"text":"words of ` + from + `"}`)}})
}

func (s *story) tell(from, words string) *story {
	return s.do(fold.Command{Do: &fold.Message{Finality: turn, Payload: text(words)}, From: from})
}

func (s *story) hint(from, next string) *story {
	return s.do(fold.Command{From: from,
		Do: &fold.Message{Finality: turn, Payload: text("words of " + from), TurnHint: &parley.TurnHint{Next: next}}})
}

// take claims the current turn for an executor, by its number.
func (s *story) take(from, executor string) *story {
	return s.do(fold.Command{From: from, Executor: fold.Executor{ID: executor},
		Do: &fold.Take{Turn: s.state.CurrentTurn(), NewClaim: fold.NewClaim{GraceMs: 5000}}})
}

// accept claims the current turn for an executor that was asked to.
func (s *story) accept(from, executor string) *story {
	h := eventdata.HashClaim(eventdata.ClaimID(s.state.CurrentTurn(), executor+fmt.Sprint(s.state.Seq)))
	return s.do(fold.Command{From: from, Executor: fold.Executor{ID: executor}, Named: &h,
		Do: &fold.Take{Turn: s.state.CurrentTurn(), Offered: true, NewClaim: fold.NewClaim{GraceMs: 5000, New: h}}})
}

// renew renews a claim whose remaining time is left ms.
func (s *story) renew(from string, held, left int64) *story {
	return s.do(fold.Command{Do: &fold.Renew{LeftMs: left}, From: from, HeldMs: held})
}

func (s *story) release(from string, reason parley.ClaimEnd) *story {
	return s.do(fold.Command{Do: &fold.Release{Reason: reason, Detail: "because"}, From: from})
}

// lapse ends the current claim as the hub does.
func (s *story) lapse(reason parley.ClaimEnd) *story {
	return s.do(fold.Command{From: parley.HubID, Named: &s.state.Claim.Hash,
		Do: &fold.EndClaim{RenewedSeq: s.state.Claim.RenewedSeq, Reason: reason}})
}

// late ends the time of the first Ask. An executor was offered the turn.
func (s *story) late() *story {
	a := s.state.Asks()[0]
	return s.do(fold.Command{Do: &fold.Timeout{AgentID: a.AgentID, Since: a.Since, Asked: true}, From: parley.HubID})
}

func (s *story) cancel(from string) *story {
	return s.do(fold.Command{Do: &fold.Cancel{Turn: s.state.CurrentTurn(), Detail: "enough"}, From: from})
}

func (s *story) trace(from string) *story {
	return s.do(fold.Command{Do: &fold.Trace{Payload: json.RawMessage(`{"kind":"thought"}`)}, From: from})
}

func (s *story) note(from string) *story {
	return s.do(fold.Command{
		Do:   &fold.Note{Note: &parley.Note{Schema: "weather.v1", Tags: []string{"rain"}, Data: json.RawMessage(`{"mm":3}`)}},
		From: from,
	})
}

func (s *story) attach(from, hash string, size int64, name string) *story {
	return s.do(fold.Command{From: from,
		Do: &fold.AddAttachment{Attachment: &parley.System{SHA256: hash, Size: size, Name: name, MediaType: "text/plain"}}})
}

func (s *story) refer(from, hash string) *story {
	payload := json.RawMessage(`{"attachments":[{"sha256":"` + hash + `","name":"as I call it"}]}`)
	speech, err := check.Message(payload)
	files := speech.Refers
	if err != nil {
		s.t.Fatal(err)
	}
	return s.do(fold.Command{From: from,
		Do: &fold.Message{Finality: turn, Payload: payload, Speech: check.Speech{Refers: files}}})
}

func (s *story) add(id, private string) *story {
	return s.do(fold.Command{From: "maker",
		Do: &fold.AddParticipant{Participant: &parley.Participant{ID: id, Kind: parley.KindAgent, Private: private}}})
}

func (s *story) close(o *parley.Outcome) *story {
	return s.do(fold.Command{Do: &fold.Close{Outcome: o}, From: "maker"})
}

// tick lets ms pass and looks at the clock.
func (s *story) tick(ms parley.Timestamp) *story {
	s.now += ms
	return s.do(fold.Command{Do: &fold.Tick{}, From: parley.HubID})
}

func seats(ids ...string) []parley.Participant {
	var out []parley.Participant
	for _, id := range ids {
		out = append(out, parley.Participant{ID: id, Kind: parley.KindAgent})
	}
	return out
}

const (
	none         = parley.FinalityNone
	turn         = parley.FinalityTurn
	conversation = parley.FinalityConversation
	roundRobin   = parley.PolicyRoundRobin
	open         = parley.PolicyOpen
)

// TestGolden replays each stored log. It compares the guidance after every event, for every participant and for a
// caller that does not take part, with the stored guidance.
func TestGolden(t *testing.T) {
	for name, tell := range stories {
		t.Run(name, func(t *testing.T) {
			s := &story{t: t, state: fold.State{ID: name}, keys: idempotency.Keys{}, now: 946_684_800_000}
			tell(s)
			told := append(bytes.Join(s.log, []byte("\n")), '\n')
			logFile, goldenFile := filepath.Join("testdata", name+".jsonl"), filepath.Join("testdata", name+".golden")
			if *update {
				writeFile(t, logFile, told)
				writeFile(t, goldenFile, guidanceOf(t, name, told))
			}
			stored := readFile(t, logFile)
			if diff := cmp.Diff(string(stored), string(told)); diff != "" {
				t.Errorf("the commands give another log (-stored +now):\n%s", diff)
			}
			if diff := cmp.Diff(string(readFile(t, goldenFile)), string(guidanceOf(t, name, stored))); diff != "" {
				t.Errorf("guidance (-stored +now):\n%s", diff)
			}
		})
	}
	files, err := filepath.Glob("testdata/*.jsonl")
	if err != nil || len(files) != len(stories) {
		t.Errorf("%d logs are stored, %d stories told, %v", len(files), len(stories), err)
	}
}

// guidanceOf has a line for each event and participant: seq, participant, guidance.
func guidanceOf(t *testing.T, id string, log []byte) []byte {
	var out bytes.Buffer
	state := fold.State{ID: id}
	for line := range bytes.Lines(log) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		var e parley.Event
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		next, err := state.Apply(&e, len(line))
		if err != nil {
			t.Fatal(err)
		}
		state = next
		who := []string{"~nobody"}
		for _, p := range state.Participants {
			who = append(who, p.ID)
		}
		slices.Sort(who)
		for _, p := range who {
			g, err := json.Marshal(state.Guidance(p, true))
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(&out, "%d %s %s\n", state.Seq, p, g)
		}
	}
	return out.Bytes()
}

func writeFile(t *testing.T, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
