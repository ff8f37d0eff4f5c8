package scenario_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/scenario"
	"github.com/parleyhub/parley/hub/policy"
	"github.com/parleyhub/parley/internal/schematest"
)

var examples = filepath.Join("..", "..", "..", "..", "examples", "scenarios")

// TestExamples: the scenarios that are shown are ones that a hub takes.
func TestExamples(t *testing.T) {
	names := files(t, examples)
	if len(names) < 3 {
		t.Errorf("only %q", names)
	}
	for _, name := range names {
		if _, err := scenario.Load(name); err != nil {
			t.Error(err)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := schematest.Validate(schematest.Compile(t, scenario.Schema()), text); err != nil {
			t.Errorf("%s: the Schema says %v", name, err)
		}
	}
}

// TestExamplesGoOn: under the rules of the examples the floor goes where their comments say. Each
// word is "author tags".
func TestExamplesGoOn(t *testing.T) {
	for file, c := range map[string]struct{ said, next, stops string }{
		"triage.yaml": {
			"visitor|triage|visitor|triage urgent|specialist|visitor|specialist settled",
			"triage visitor triage specialist visitor specialist visitor", "specialist settled",
		},
		"prior-authorization.yaml": {"nurse|clinic|payer|clinic|payer", "clinic payer clinic payer clinic", ""},
		"panel.yaml":               {"moderator|archivist|lawyer", "archivist moderator moderator", ""},
	} {
		s, err := scenario.Load(filepath.Join(examples, file))
		if err != nil {
			t.Fatal(err)
		}
		counts := make([]int64, len(s.Participants))
		var next []string
		for i, words := range strings.Split(c.said, "|") {
			author, tag, tagged := strings.Cut(words, " ")
			m := parley.Message{Text: "so it is"}
			if tagged {
				m.Tags = []string{tag}
			}
			e := &policy.Ended{Policy: *s.Policy, Seats: s.Participants, From: author, Turn: int64(i + 1), Turns: int64(i + 1),
				Counts: counts}
			if i == 0 && s.Opening != nil {
				m.Text, e.Hint = s.Opening.Text, s.Opening.Next
			}
			for j, p := range s.Participants {
				if p.ID == author {
					counts[j]++
				}
			}
			if e.Payload, err = json.Marshal(m); err != nil {
				t.Fatal(err)
			}
			next = append(next, policy.Next(e).Next)
			if stop, why := policy.Stop(s.Limits.StopWhen, e); stop != (words == c.stops) {
				t.Errorf("%s: after %q it stops: %v, %s", file, words, stop, why)
			}
		}
		if got := strings.Join(next, " "); got != c.next {
			t.Errorf("%s: %s, expected %s", file, got, c.next)
		}
	}
}
