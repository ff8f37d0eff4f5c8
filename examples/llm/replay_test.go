package llm_test

import (
	"path/filepath"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/replay"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// TestReplay: a run that was recorded goes the same way on another hub, without its models: with
// children at once, and with an approval.
func TestReplay(t *testing.T) {
	for _, c := range []struct {
		dir, agent, parameters string
		approve                bool
	}{
		{"review", "case-review", `{"case":"knee replacement, no laboratory"}`, false},
		{"refund", "refund-desk", `{"order":"A-17","amount":120,"reason":"It never came."}`, true},
	} {
		t.Run(c.dir, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "run.jsonl")
			run := func(o *replay.Options, wrap func(*replay.Cassette, llm.Provider) llm.Provider) (text string, left int) {
				t.Helper()
				tape, err := replay.Open(path, o)
				if err != nil {
					t.Fatal(err)
				}
				defer tape.Close()
				h := sdktest.NewHub(t)
				serve(t, h, mustLoad(t, c.dir, nil, func(p llm.Provider) llm.Provider { return wrap(tape, p) }))
				nora := approver(t, h)
				id := session(t, nora, c.agent, c.parameters)
				if c.approve {
					a := pending(t, nora, id)
					if _, err := nora.ResolveApproval(t.Context(), &parley.ResolveApprovalParams{ApprovalID: a.ApprovalID, Decision: parley.DecisionApproved}); err != nil {
						t.Fatal(err)
					}
				}
				return result(t, ended(t, nora, id)), tape.Left()
			}
			recorded, _ := run(&replay.Options{Mode: replay.Record}, func(tape *replay.Cassette,
				p llm.Provider) llm.Provider {
				return tape.Provider(p)
			})
			played, left := run(nil, func(tape *replay.Cassette, p llm.Provider) llm.Provider { return tape.Player(p.Name()) })
			if played != recorded || left != 0 {
				t.Errorf("%s with %d left: expected %s", played, left, recorded)
			}
		})
	}
}
