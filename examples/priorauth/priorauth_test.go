package priorauth_test

import (
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/examples/priorauth"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// The ways that a conversation can go, by the schemas of its messages.
const (
	req, ask, ev = priorauth.SchemaRequest, priorauth.SchemaQuestion, priorauth.SchemaEvidence
	dec, ans     = priorauth.SchemaDecision, priorauth.SchemaAnswer
)

var (
	approvedAfterQuestion = []string{req, ask, ev, dec}
	approvedAtOnce        = []string{req, dec}
	appealed              = []string{req, ask, ev, dec, ev, dec}
	answered              = []string{req, ask, ev, dec, ans, dec}
)

// TestOutcomes: what the files say decides how it ends, and every change of a value that matters
// changes the end.
func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		name   string
		kase   string
		change func(*priorauth.Files)
		want   priorauth.Verdict
		way    []string
		says   string // in the last message
	}{
		{"lumbar MRI", "lumbar-mri", nil, priorauth.Approved, approvedAfterQuestion,
			"physical therapy was given for 7 weeks"},
		{"therapy too short", "lumbar-mri", func(f *priorauth.Files) {
			from := day(t, "2026-10-05")
			entry(t, f, "lumbar-mri", "pt-course").From = &from
		}, priorauth.Denied, answered, "given for 3 weeks, where 6 are required"},
		{"therapy long ago", "lumbar-mri", func(f *priorauth.Files) {
			e := entry(t, f, "lumbar-mri", "pt-course")
			from := day(t, "2025-09-07")
			e.From, e.Date = &from, day(t, "2025-10-30")
		}, priorauth.Denied, answered, "378 days before the request"},
		{"policy asks for more weeks", "lumbar-mri", func(f *priorauth.Files) {
			f.Policy.Procedures["72148"].Criteria[1].MinWeeks = 8
		}, priorauth.Denied, answered, "7 weeks, where 8 are required"},
		{"policy without therapy", "lumbar-mri", func(f *priorauth.Files) {
			f.Policy.Procedures["72148"].Criteria = f.Policy.Procedures["72148"].Criteria[:1]
		}, priorauth.Approved, approvedAtOnce, "radiculopathy is documented"},
		{"red flag waives the rest", "lumbar-mri", func(f *priorauth.Files) {
			entry(t, f, "lumbar-mri", "exam-1110").Code = "cauda_equina"
		}, priorauth.Approved, approvedAtOnce, "cauda equina is documented"},
		{"exception found on appeal", "lumbar-mri", func(f *priorauth.Files) {
			entry(t, f, "lumbar-mri", "naproxen").Code = "paracetamol"
			entry(t, f, "lumbar-mri", "exam-0828").Code = "nsaid_contraindicated"
		}, priorauth.Approved, appealed, "exception: nsaid contraindicated"},
		{"evidence without source", "lumbar-mri", func(f *priorauth.Files) {
			entry(t, f, "lumbar-mri", "pt-course").Source = ""
		}, priorauth.Denied, answered, "names no source"},
		{"evidence from the future", "lumbar-mri", func(f *priorauth.Files) {
			f.Cases["lumbar-mri"].RequestedOn = day(t, "2026-10-20")
			entry(t, f, "lumbar-mri", "exam-1110").Date = day(t, "2026-10-19")
		}, priorauth.Denied, answered, "after the request"},
		{"procedure that is not covered", "lumbar-mri", func(f *priorauth.Files) {
			delete(f.Policy.Procedures, "72148")
		}, priorauth.Denied, approvedAtOnce, "is not in the policy"},

		{"biologic after appeal", "adalimumab-ra", nil, priorauth.Approved, appealed, "exception: alt was 142 U/L"},
		{"liver value not so high", "adalimumab-ra", func(f *priorauth.Files) {
			*entry(t, f, "adalimumab-ra", "alt-0918").Value = 96
		}, priorauth.Denied, answered, "6 weeks, where 12 are required"},
		{"policy with a higher bar", "adalimumab-ra", func(f *priorauth.Files) {
			*f.Policy.Procedures["J0139"].Criteria[2].Exceptions[0].Min = 200
		}, priorauth.Denied, answered, "6 weeks, where 12 are required"},
		{"step therapy done", "adalimumab-ra", func(f *priorauth.Files) {
			from := day(t, "2026-05-01")
			entry(t, f, "adalimumab-ra", "mtx-course").From = &from
		}, priorauth.Approved, approvedAfterQuestion, "methotrexate was given for 20 weeks"},
		{"disease not active", "adalimumab-ra", func(f *priorauth.Files) {
			*entry(t, f, "adalimumab-ra", "das-1102").Value = 2.4
		}, priorauth.Denied, appealed, "at least 3.2 is required"},

		{"fewer visits than asked", "knee-therapy", nil, priorauth.Partial, answered, "quantity 12 of 24"},
		{"recovery is slow", "knee-therapy", func(f *priorauth.Files) {
			*entry(t, f, "knee-therapy", "flexion-1117").Value = 60
		}, priorauth.Approved, approvedAfterQuestion, "quantity 24"},
		{"less than helps", "knee-therapy", func(f *priorauth.Files) {
			f.Cases["knee-therapy"].AcceptUnits = 18
		}, priorauth.Denied, answered, "allows 12 at first"},
		{"policy allows more", "knee-therapy", func(f *priorauth.Files) {
			f.Policy.Procedures["97110"].MaxUnits = 30
		}, priorauth.Approved, approvedAfterQuestion, "quantity 24"},
		{"asked for little", "knee-therapy", func(f *priorauth.Files) {
			f.Cases["knee-therapy"].Units = 8
		}, priorauth.Approved, approvedAfterQuestion, "quantity 8"},

		{"headache", "headache-mri", nil, priorauth.Denied, answered, "3 weeks, where 8 are required"},
		{"headache with a finding", "headache-mri", func(f *priorauth.Files) {
			entry(t, f, "headache-mri", "exam-1013").Code = "papilledema"
		}, priorauth.Approved, appealed, "exception: papilledema"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := priorauth.Embedded()
			if c.change != nil {
				c.change(f)
			}
			s, messages := converse(t, f, c.kase)
			if want := (parley.Outcome{Status: parley.OutcomeCompleted, Reason: string(c.want)}); s.Outcome == nil ||
				*s.Outcome != want {
				t.Errorf("outcome is %+v, expected %+v", s.Outcome, want)
			}
			var way []string
			for _, m := range messages {
				way = append(way, m.Schema)
			}
			if !slices.Equal(way, c.way) {
				t.Errorf("the way was %v, expected %v", way, c.way)
			}
			if last := messages[len(messages)-1]; !strings.Contains(last.Text, c.says) {
				t.Errorf("the last message is %q, expected it to say %q", last.Text, c.says)
			}
			if t.Failed() {
				for _, m := range messages {
					t.Logf("%s: %s", m.Schema, m.Text)
				}
			}
		})
	}
}

// TestTurnHandledTwice: an agent that handles a turn again, as after a crash, says the same under
// the same keys.
func TestTurnHandledTwice(t *testing.T) {
	h := sdktest.NewHub(t)
	f := priorauth.Embedded()
	id := create(t, h.InProcess(t, "clinic"), f.Cases["adalimumab-ra"])
	agents := map[string]parley.Agent{"clinic": &priorauth.Clinic{Files: f}, "payer": &priorauth.Payer{Files: f}}
	for n, name := range []string{"clinic", "payer", "clinic", "payer", "clinic", "payer"} {
		client := h.InProcess(t, name)
		var latest [2]int64
		for i := range latest {
			turn := &parley.Turn{ConversationID: id, AgentID: name, Number: int64(n + 1), Key: "turn", Client: client}
			turn.Key += string(rune('a' + n))
			if _, err := agents[name].HandleTurn(t.Context(), turn); err != nil {
				t.Fatalf("turn %d, time %d: %v", n+1, i+1, err)
			}
			w, err := client.WaitForChange(t.Context(), &parley.WaitForChangeParams{ConversationID: id})
			if err != nil {
				t.Fatal(err)
			}
			latest[i] = w.LatestSeq
		}
		if latest[0] != latest[1] {
			t.Errorf("turn %d added events %d to %d when it was handled again", n+1, latest[0]+1, latest[1])
		}
	}
}

// TestEachSideKeepsItsReasons: traces are for their author's side only.
func TestEachSideKeepsItsReasons(t *testing.T) {
	h := sdktest.NewHub(t)
	f := priorauth.Embedded()
	clinic := h.InProcess(t, "clinic")
	id := create(t, clinic, f.Cases["lumbar-mri"])
	run(t, h, f, id)
	page, err := clinic.Tail(t.Context(), &parley.TailParams{ConversationID: id})
	if err != nil {
		t.Fatal(err)
	}
	own := 0
	for _, e := range page.Events {
		if e.Type != parley.TypeTrace {
			continue
		}
		own++
		if e.From != "clinic" {
			t.Errorf("the clinic reads a trace of %s: %s", e.From, e.Payload)
		}
	}
	if own != 2 {
		t.Errorf("the clinic reads %d traces of its own, expected 2", own)
	}
}

// TestUnknownCase: the clinic says so and ends it.
func TestUnknownCase(t *testing.T) {
	h := sdktest.NewHub(t)
	f := priorauth.Embedded()
	c := *f.Cases["lumbar-mri"]
	c.ID = "no-such"
	id := create(t, h.InProcess(t, "clinic"), &c)
	s := run(t, h, f, id)
	if s.Outcome == nil || s.Outcome.Status != parley.OutcomeFailed {
		t.Errorf("outcome is %+v, expected failed", s.Outcome)
	}
}

// TestLoadDirectory: files on disk are read as the embedded ones are, and a misspelt member is
// refused.
func TestLoadDirectory(t *testing.T) {
	f, err := priorauth.Load(os.DirFS("files"))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := f.IDs(), []string{"adalimumab-ra", "headache-mri", "knee-therapy", "lumbar-mri"}; !slices.Equal(got,
		want) {
		t.Errorf("cases are %v, expected %v", got, want)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("files")); err != nil {
		t.Fatal(err)
	}
	policy := dir + "/policy.json"
	b, err := os.ReadFile(policy)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(policy, []byte(strings.Replace(string(b), `"minWeeks"`, `"minimumWeeks"`, 1)),
		0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := priorauth.Load(os.DirFS(dir)); err == nil || !strings.Contains(err.Error(), "minimumWeeks") {
		t.Errorf("a misspelt member gives %v", err)
	}
}

// converse lets both agents talk about a case until it is closed.
func converse(t *testing.T, f *priorauth.Files, kase string) (*parley.Snapshot, []parley.Message) {
	t.Helper()
	h := sdktest.NewHub(t)
	id := create(t, h.InProcess(t, "clinic"), f.Cases[kase])
	s := run(t, h, f, id)
	var messages []parley.Message
	for _, e := range s.Events {
		if e.Type != parley.TypeMessage {
			continue
		}
		m, err := e.Message()
		if err != nil {
			t.Fatal(err)
		}
		if m.Text == "" || !json.Valid(m.Data) {
			t.Errorf("message %d has no text or no data: %s", e.Seq, e.Payload)
		}
		messages = append(messages, m)
	}
	return s, messages
}

func create(t *testing.T, c parley.Client, kase *priorauth.Case) string {
	t.Helper()
	s, err := c.CreateConversation(t.Context(), kase.Conversation("", ""))
	if err != nil {
		t.Fatal(err)
	}
	return s.ConversationID
}

// run runs both agents until the conversation is closed.
func run(t *testing.T, h *sdktest.Hub, f *priorauth.Files, id string) *parley.Snapshot {
	t.Helper()
	return runWith(t, h, f, id, &priorauth.Payer{Files: f})
}

func runWith(t *testing.T, h *sdktest.Hub, f *priorauth.Files, id string, agent *priorauth.Payer) *parley.Snapshot {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ended := make(chan error, 2)
	clinic, payer := h.InProcess(t, "clinic"), h.InProcess(t, "payer")
	go func() { ended <- executors.Internal(clinic, &priorauth.Clinic{Files: f}, nil).Run(ctx) }()
	go func() { ended <- executors.Internal(payer, agent, nil).Run(ctx) }()
	u, err := clinic.GetUpdates(ctx, &parley.GetUpdatesParams{ConversationID: id, Until: parley.UntilClosed, TimeoutMs: 30_000})
	if err != nil || u.Status != parley.StatusClosed {
		t.Errorf("the conversation: %+v, %v", u, err)
	}
	cancel()
	for range 2 {
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
	s, err := clinic.GetConversation(t.Context(), &parley.GetConversationParams{ConversationID: id})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func entry(t *testing.T, f *priorauth.Files, kase, id string) *priorauth.Evidence {
	t.Helper()
	for i := range f.Cases[kase].Chart {
		if f.Cases[kase].Chart[i].ID == id {
			return &f.Cases[kase].Chart[i]
		}
	}
	t.Fatalf("case %s has no entry %s", kase, id)
	return nil
}

func day(t *testing.T, s string) (d priorauth.Day) {
	t.Helper()
	if err := d.UnmarshalText([]byte(s)); err != nil {
		t.Fatal(err)
	}
	return d
}
