package priorauth_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/examples/priorauth"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/executors/blueprint"
	"github.com/parleyhub/parley/executors/process"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// asCriteria is the argument that makes this program the command of the agent.
const asCriteria = "run-criteria"

func TestMain(m *testing.M) {
	process.Supervise()
	if len(os.Args) == 2 && os.Args[1] == asCriteria {
		if err := priorauth.RunCriteria(priorauth.Embedded().Policy, os.Stdin, os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestCheckerDecidesAlike: a payer that has a command hold the evidence against the criteria comes
// to the same end, in the same words, as one that does it itself; and each time that it looks is a
// session of the conversation.
func TestCheckerDecidesAlike(t *testing.T) {
	f := priorauth.Embedded()
	for kase, looks := range map[string]int{"lumbar-mri": 2, "adalimumab-ra": 3, "knee-therapy": 2, "headache-mri": 2} {
		t.Run(kase, func(t *testing.T) {
			t.Parallel()
			alone, _ := converse(t, f, kase)
			h := sdktest.NewHub(t)
			runCriteria(t, h)
			id := create(t, h.InProcess(t, "clinic"), f.Cases[kase])
			s := runWith(t, h, f, id, &priorauth.Payer{Files: f, Checker: priorauth.CriteriaAgent})
			if got, want := said(t, s), said(t, alone); !slices.Equal(got, want) {
				t.Errorf("with the checker it was said\n%s\nand without\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			admin, started := h.Admin(t), 0
			for _, e := range s.Events {
				sys, err := e.System()
				if e.Type != parley.TypeSystem || err != nil || sys.Kind != parley.KindSessionStarted {
					continue
				}
				started++
				child, err := admin.GetSession(t.Context(), &parley.GetSessionParams{SessionID: sys.SessionID})
				if err != nil {
					t.Fatal(err)
				}
				if child.Status != parley.SessionCompleted || child.CreatedBy != "payer" || child.Mode != parley.ModeSync {
					t.Errorf("a session of the payer: %+v", child)
				}
			}
			if started != looks {
				t.Errorf("%d sessions were started, expected %d", started, looks)
			}
		})
	}
}

// TestCriteriaCommand: the command reports what is wrong with its input.
func TestCriteriaCommand(t *testing.T) {
	policy := priorauth.Embedded().Policy
	for in, says := range map[string]string{
		`{"procedure":"0","requested_on":"2026-11-12","evidence":[]}`: "procedure 0 is not in the policy",
		`{"procedure":"72148","requested_on":"soon"}`:                 "the parameters: ",
	} {
		err := priorauth.RunCriteria(policy, strings.NewReader(in), &strings.Builder{}, &strings.Builder{})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s gives %v, expected %q", in, err, says)
		}
	}
}

// runCriteria runs the agent on a hub, with this program as its command.
func runCriteria(t *testing.T, h *sdktest.Hub) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := priorauth.CriteriaBlueprint(self, asCriteria)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "criteria-check.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	set, faults := blueprint.Load(dir)
	if len(faults) > 0 || len(set.Files) != 1 {
		t.Fatalf("%v; %d blueprints", faults, len(set.Files))
	}
	client, registered := h.InProcess(t, "runner"), make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- executors.Run(ctx, client, blueprint.New(set, nil), &executors.Options{
			ExecutorID: "run-criteria", Blueprints: set.Blueprints(),
			Registered: func(*parley.RegisterBlueprintsResult) { registered <- struct{}{} },
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-registered:
	case <-time.After(30 * time.Second):
		t.Fatal("the agent is not registered")
	}
}

// said returns the messages with their data.
func said(t *testing.T, s *parley.Snapshot) []string {
	t.Helper()
	var out []string
	for _, e := range s.Events {
		if e.Type != parley.TypeMessage {
			continue
		}
		m, err := e.Message()
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
	}
	if s.Outcome != nil {
		out = append(out, fmt.Sprintf("%+v", *s.Outcome))
	}
	return out
}
