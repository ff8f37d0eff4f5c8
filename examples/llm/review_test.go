package llm_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// review is the result of case-review.
type review struct {
	Recommendation string   `json:"recommendation"`
	Findings       []string `json:"findings"`
	Open           []string `json:"open"`
}

// TestReview: the agent plans, starts three children at once, and merges their results in the order
// of its jobs. A failed child is reported and does not stop the others.
func TestReview(t *testing.T) {
	h := sdktest.NewHub(t)
	serve(t, h, mustLoad(t, "review", nil))
	ann := h.Client(t, "ann")
	for _, c := range []struct {
		name, parameters string
		want             review
		children         []parley.SessionStatus
	}{
		{
			"all sides", `{"case":"knee replacement after a fall"}`,
			review{Recommendation: "do", Findings: []string{"indicated after six weeks of therapy", "nothing speaks against it",
				"nothing cheaper does the same"}},
			[]parley.SessionStatus{parley.SessionCompleted, parley.SessionCompleted, parley.SessionCompleted},
		},
		{
			"one side fails", `{"case":"knee replacement, no laboratory"}`,
			review{
				Recommendation: "look again", Findings: []string{"indicated after six weeks of therapy",
					"nothing cheaper does the same"},
				Open: []string{"safety: The agent case-review.child failed (refusal): I cannot judge the safety without laboratory values."},
			},
			[]parley.SessionStatus{parley.SessionCompleted, parley.SessionCompleted, parley.SessionFailed},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := ended(t, ann, session(t, ann, "case-review", c.parameters))
			result(t, s)
			var got review
			if err := json.Unmarshal(s.Result.ResultData, &got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(c.children, below(t, ann, s.SessionID)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
