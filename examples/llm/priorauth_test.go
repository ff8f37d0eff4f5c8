package llm_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/internal/shape"
	"github.com/parleyhub/parley/internal/yamlfile"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// decision is what the payer says.
type decision struct {
	Decision string   `json:"decision"`
	Message  string   `json:"message"`
	Missing  []string `json:"missing"`
}

// TestPriorAuthorization: a clinic in a separate process and a payer in the process of the hub
// settle a case. The contents of the chart decide the result.
func TestPriorAuthorization(t *testing.T) {
	h := sdktest.NewHub(t)
	clinicProcess(t, h)
	payerInside(t, h)
	for _, c := range []struct {
		name, chart string // is put in place of the therapy
		want        []string
		last        decision
	}{
		{
			"approved", "7 weeks of physical therapy", []string{"nurse", "clinic", "payer more", "clinic", "payer approved"},
			decision{Decision: "approved", Message: "Approved: nerve root signs and 6 weeks of physical therapy are documented."},
		},
		{
			"denied", "Rest", []string{"nurse", "clinic", "payer more", "clinic", "payer denied"},
			decision{Decision: "denied", Message: "Denied: the policy asks for at least 6 weeks of physical therapy.",
				Missing: []string{"physical-therapy"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			nurse := h.Client(t, "nurse")
			s := settled(t, nurse, begin(t, nurse, strings.Replace(scenario(t), "7 weeks of physical therapy", c.chart, 1)))
			if s.Outcome == nil || s.Outcome.Status != parley.OutcomeCompleted || s.Outcome.Reason != "stop_when" {
				t.Errorf("the outcome is %+v", s.Outcome)
			}
			said, last := spoken(t, s)
			if diff := cmp.Diff(c.want, said); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.last, last); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestClinicIsKilled: if a clinic is killed during a turn, the next one says the same, once.
func TestClinicIsKilled(t *testing.T) {
	h := sdktest.NewHub(t)
	kill := clinicProcess(t, h, clinicStuck+"=yes")
	payerInside(t, h)
	nurse := h.Client(t, "nurse")
	id := begin(t, nurse, scenario(t))
	for e, err := range nurse.Events(t.Context(), id, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if s, err := e.System(); err == nil && s.Kind == parley.KindTurnClaimed {
			break
		}
	}
	kill()
	clinicProcess(t, h)
	s := settled(t, nurse, id)
	if n := claims(s, 2); n != 2 {
		t.Errorf("the clinic's first turn was claimed %d times: expected 2", n)
	}
	said, last := spoken(t, s)
	if diff := cmp.Diff([]string{"nurse", "clinic", "payer more", "clinic", "payer approved"}, said); diff != "" ||
		last.Decision != "approved" {
		t.Errorf("%+v: %s", last, diff)
	}
}

// claims counts those of a turn.
func claims(s *parley.Snapshot, turn int64) (n int) {
	for _, e := range s.Events {
		if sys, err := e.System(); err == nil && sys.Kind == parley.KindTurnClaimed && sys.Turn == turn {
			n++
		}
	}
	return n
}

// payerInside runs the payer inside the hub.
func payerInside(t *testing.T, h *sdktest.Hub) {
	t.Helper()
	payer, hands := h.InProcess(t, "payer"), mustLoad(t, "payer", nil)
	start(t, func(ctx context.Context) error {
		return executors.Internal(payer, hands.agents["payer"], nil).Run(ctx)
	})
}

// spoken returns the speakers, with the decisions of the payer, and the last decision.
func spoken(t *testing.T, s *parley.Snapshot) (said []string, last decision) {
	t.Helper()
	for _, e := range s.Events {
		m, err := e.Message()
		if e.Type != parley.TypeMessage || e.From == parley.HubID || err != nil {
			continue
		}
		line := e.From
		if e.From == "payer" {
			last = decision{}
			if err := json.Unmarshal(m.Data, &last); err != nil {
				t.Fatal(err)
			}
			line += " " + last.Decision
		}
		said = append(said, line)
	}
	return said, last
}

// clinicProcess starts the clinic. It is killed with the test, or by kill.
func clinicProcess(t *testing.T, h *sdktest.Hub, env ...string) (kill func()) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(append(os.Environ(), clinicURL+"="+h.URL, clinicToken+"="+h.NewToken(t, "clinic")), env...)
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill() // it may have exited
		_ = cmd.Wait()
	})
	t.Cleanup(kill)
	return kill
}

// scenario is the file of the conversation, as JSON.
func scenario(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("prior-authorization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r := &shape.Reader{File: "prior-authorization.yaml", Expected: "expected a scenario"}
	n, faults := yamlfile.Parse(text)
	taken := r.Read(shape.Open("a scenario", yamlfile.MaxBytes), n, faults)
	if len(r.Findings) > 0 {
		t.Fatal(r.Findings)
	}
	return string(taken)
}

// begin makes a conversation as its scenario says.
func begin(t *testing.T, nurse parley.Client, text string) string {
	t.Helper()
	var file struct {
		parley.CreateConversationParams
		Opening parley.Message
	}
	if err := json.Unmarshal([]byte(text), &file); err != nil {
		t.Fatal(err)
	}
	s, err := nurse.CreateConversation(t.Context(), &file.CreateConversationParams)
	if err != nil {
		t.Fatal(err)
	}
	opening, err := json.Marshal(parley.Message{Text: file.Opening.Text})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nurse.SendMessage(t.Context(), &parley.SendMessageParams{ConversationID: s.ConversationID, Payload: opening, Finality: parley.FinalityTurn}); err != nil {
		t.Fatal(err)
	}
	return s.ConversationID
}

// settled waits for the end of a conversation.
func settled(t *testing.T, nurse parley.Client, id string) *parley.Snapshot {
	t.Helper()
	u, err := nurse.GetUpdates(t.Context(), &parley.GetUpdatesParams{ConversationID: id, Until: parley.UntilClosed,
		TimeoutMs: parley.MaxWaitMs})
	if err != nil || u.Status != parley.StatusClosed {
		t.Fatalf("the conversation: %+v, %v", u, err)
	}
	s, err := nurse.GetConversation(t.Context(), &parley.GetConversationParams{ConversationID: id})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
