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
)

var update = flag.Bool("update", false, "write the logs and golden files of testdata anew")

// story makes the log of a golden file. Each step is one command; steps are a second apart.
type story struct {
	t     *testing.T
	state fold.State
	keys  fold.Keys
	now   parley.Timestamp
	log   [][]byte
}

func (s *story) do(c fold.Command) *story {
	s.t.Helper()
	s.now += 1000
	c.Now = s.now
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

func (s *story) create(policy parley.PolicyKind, starts string, l *parley.Limits, seats ...parley.Participant) *story {
	return s.do(fold.Command{Verb: fold.Create, From: "maker", Create: &parley.CreateConversationParams{
		Participants: seats, Policy: &parley.Policy{Kind: policy}, StartsWith: starts, Limits: l,
	}})
}

func (s *story) say(from string, f parley.Finality) *story {
	return s.do(fold.Command{Verb: fold.Message, From: from, Finality: f, Payload: json.RawMessage(`{"text":"words of ` + from + `"}`)})
}

func (s *story) trace(from string) *story {
	return s.do(fold.Command{Verb: fold.Trace, From: from, Payload: json.RawMessage(`{"kind":"thought"}`)})
}

func (s *story) note(from string) *story {
	return s.do(fold.Command{Verb: fold.Note, From: from, Note: &parley.Note{Schema: "weather.v1", Tags: []string{"rain"}, Data: json.RawMessage(`{"mm":3}`)}})
}

func (s *story) attach(from, hash string, size int64, name string) *story {
	return s.do(fold.Command{Verb: fold.AddAttachment, From: from, Attachment: &parley.System{SHA256: hash, Size: size, Name: name, MediaType: "text/plain"}})
}

func (s *story) refer(from, hash string) *story {
	payload := json.RawMessage(`{"attachments":[{"sha256":"` + hash + `","name":"as I call it"}]}`)
	files, err := fold.CheckMessage(payload)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.do(fold.Command{Verb: fold.Message, From: from, Finality: turn, Payload: payload, Refers: files})
}

func (s *story) add(id, private string) *story {
	return s.do(fold.Command{Verb: fold.AddParticipant, From: "maker", Participant: &parley.Participant{ID: id, Kind: parley.KindAgent, Private: private}})
}

func (s *story) close(o *parley.Outcome) *story {
	return s.do(fold.Command{Verb: fold.Close, From: "maker", Outcome: o})
}

// tick lets ms pass and looks at the clock.
func (s *story) tick(ms parley.Timestamp) *story {
	s.now += ms
	return s.do(fold.Command{Verb: fold.Tick, From: parley.HubID})
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

var stories = map[string]func(s *story){
	"round_robin_2": func(s *story) {
		s.create(roundRobin, "", nil, seats("clinic", "payer")...).say("clinic", none).say("clinic", turn).say("payer", turn).
			say("clinic", turn).say("payer", conversation)
	},
	"round_robin_3": func(s *story) {
		s.create(roundRobin, "", nil, seats("a", "b", "c")...).say("a", turn).say("b", turn).say("c", none).say("c", turn).say("a", turn)
	},
	"starts_with": func(s *story) {
		s.create(roundRobin, "b", nil, seats("a", "b", "c")...).say("b", turn).say("c", turn).say("a", turn).say("b", turn)
	},
	"open": func(s *story) {
		s.create(open, "", nil, seats("a", "b")...).say("b", turn).say("b", turn).say("a", none).say("a", turn).say("b", conversation)
	},
	"open_starts_with": func(s *story) {
		s.create(open, "b", nil, seats("a", "b")...).note("a").say("b", none).say("b", turn).say("a", turn).say("a", turn)
	},
	"max_turns": func(s *story) {
		s.create(roundRobin, "", &parley.Limits{MaxTurns: 2}, seats("a", "b")...).say("a", none).say("a", turn).say("b", turn)
	},
	"max_events_open_turn": func(s *story) {
		s.create(roundRobin, "", &parley.Limits{MaxEvents: 3}, seats("a", "b")...).note("b").say("a", none).trace("a")
	},
	"max_bytes": func(s *story) {
		s.create(roundRobin, "", &parley.Limits{MaxBytes: 1024}, seats("a", "b")...)
		for i := range 12 {
			if s.state.Closed() {
				return
			}
			s.say([]string{"a", "b"}[i%2], turn)
		}
	},
	"idle_timeout": func(s *story) {
		s.create(roundRobin, "", &parley.Limits{IdleTimeoutMs: 10_000}, seats("a", "b")...).say("a", none).note("b").add("c", "").tick(5000).tick(5000)
	},
	"deadline_open_turn": func(s *story) {
		s.create(roundRobin, "", &parley.Limits{DeadlineMs: 10_000, IdleTimeoutMs: 9000}, seats("a", "b")...).say("a", turn).say("b", none).tick(7000)
	},
	"add_participant": func(s *story) {
		s.create(roundRobin, "", nil, seats("a", "b")...).say("a", turn).add("c", "for c alone").say("b", none).add("d", "").say("b", turn).
			say("c", turn).say("d", turn).say("a", turn)
	},
	"notes_and_private": func(s *story) {
		one, two := seats("a")[0], seats("b")[0]
		one.Private, two.Private = "for a alone", "for b alone"
		s.create(roundRobin, "", nil, one, two).note("b").say("a", none).note("b").note("a").say("a", turn).note("a")
	},
	"trace_only_turn": func(s *story) {
		s.create(roundRobin, "", nil, seats("a", "b")...).trace("a").trace("a").say("a", turn).trace("b").close(nil)
	},
	"attachments": func(s *story) {
		s.create(roundRobin, "", &parley.Limits{IdleTimeoutMs: 10_000}, seats("a", "b")...).attach("b", fileB, 16<<20, "before.txt").say("a", none).
			attach("b", fileA, 3, "<naïve>.txt").refer("a", fileA).refer("b", fileB).attach("a", fileC, 1, "").tick(9000)
	},
	"attachment_max_bytes": func(s *story) {
		s.create(roundRobin, "", &parley.Limits{MaxBytes: 4096}, seats("a", "b")...).say("a", none).attach("b", fileA, 2000, "half").attach("b", fileB, 2000, "rest")
	},
	"closed_by_creator": func(s *story) {
		s.create(roundRobin, "", nil, seats("a", "b")...).say("a", turn).close(&parley.Outcome{Status: parley.OutcomeFailed, Reason: "nobody came"})
	},
}

// TestGolden folds each stored log and holds the guidance after every event, of every participant and of one who is none, with
// all rules, against what is stored beside it.
func TestGolden(t *testing.T) {
	for name, tell := range stories {
		t.Run(name, func(t *testing.T) {
			s := &story{t: t, state: fold.State{ID: name}, keys: fold.Keys{}, now: 946_684_800_000}
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
