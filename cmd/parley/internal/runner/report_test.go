package runner

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	yaml "go.yaml.in/yaml/v4"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
	"github.com/parleyhub/parley/executors/blueprint"
)

// TestNamesTold: names are reported at first and after each change, and not after each connection.
func TestNamesTold(t *testing.T) {
	t.Parallel()
	var told []string
	n := &NameReporter{Report: func(text string) { told = append(told, text) }}
	ours := &parley.RegisterBlueprintsResult{Agents: []parley.RegisteredBlueprint{{Name: "a", AgentName: "a"},
		{Name: "b", AgentName: "b@r"}}}
	n.Registered(ours)
	n.Registered(&parley.RegisterBlueprintsResult{Agents: slices.Clone(ours.Agents)})
	n.Registered(&parley.RegisterBlueprintsResult{Agents: []parley.RegisteredBlueprint{{Name: "a", AgentName: "a"},
		{Name: "b", AgentName: "b"}}})
	want := []string{"a", "b is known as b@r: another has the name", "a", "b"}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Error(diff)
	}
}

// sinkClient takes every message.
type sinkClient struct{ parley.Client }

func (sinkClient) SendMessage(context.Context, *parley.SendMessageParams) (*parley.SendResult, error) {
	return &parley.SendResult{}, nil
}

// TestSessionTold: the report has the end of a session as it was posted, and a lost session is
// reported as lost.
func TestSessionTold(t *testing.T) {
	t.Parallel()
	code := 3
	for _, row := range []struct {
		result *parley.SessionResult
		err    error
		cause  error
		want   string
	}{
		{&parley.SessionResult{ExitCode: new(int)}, nil, nil, "ses_1: crawl completed"},
		{&parley.SessionResult{ExitCode: &code, Error: "first\nlast\x1b[2J\n"}, nil, nil,
			`ses_1: crawl failed with exit code 3: last\x1b[2J`},
		{nil, errors.New("there is no blueprint"), nil, "ses_1: crawl failed: there is no blueprint"},
		{nil, errors.New("interrupted"), parley.ErrClaimLost,
			"ses_1: crawl lost: the session was stopped, or the claim on it was lost"},
	} {
		agent := parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
			if row.result != nil {
				if _, err := turn.Complete(ctx, parley.Message{Result: row.result}, parley.Outcome{}); err != nil {
					t.Error(err)
				}
			}
			return parley.TurnComplete, row.err
		})
		var told string
		teller := &SessionReporter{Agent: agent, Report: func(s *SessionReport) { told, _, _ = strings.Cut(s.Text(), " (") }}
		ctx, cancel := context.WithCancelCause(t.Context())
		if row.cause != nil {
			cancel(row.cause)
		}
		_, err := teller.HandleTurn(ctx,
			&parley.Turn{ConversationID: "ses_1", Agent: "crawl", Attempt: 1, Client: sinkClient{}})
		cancel(nil)
		if !errors.Is(err, row.err) || told != row.want {
			t.Errorf("%q, %v; expected %q", told, err, row.want)
		}
	}
}

// TestDocsOfBlueprints: the table of docs/reference/blueprint.md has all keys, and the example of
// docs/guides/blueprints.md is a blueprint.
func TestDocsOfBlueprints(t *testing.T) {
	t.Parallel()
	text := clitest.Document(t, "docs", "guides", "blueprints.md")
	reference := clitest.Document(t, "docs", "reference", "blueprint.md")
	var schema struct {
		Properties map[string]any
		Else       struct{ Properties map[string]any } // what commands do not have
	}
	if err := json.Unmarshal(blueprint.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	var keys, told []string
	for key := range schema.Properties {
		_, other := schema.Else.Properties[key]
		if slices.Contains(otherTables, key) {
			if !strings.Contains(reference, "`"+key+"`") {
				t.Errorf("docs/reference/blueprint.md does not describe %s", key)
			}
		} else if !other {
			keys = append(keys, key)
		}
	}
	_, table, _ := strings.Cut(reference, "| key | default | |\n|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	for row := range strings.SplitSeq(table, "\n") {
		key, _, _ := strings.Cut(strings.TrimPrefix(row, "| `"), "`")
		if !slices.Contains(otherTables, key) {
			told = append(told, key)
		}
	}
	slices.Sort(keys)
	slices.Sort(told)
	if diff := cmp.Diff(keys, told); diff != "" {
		t.Errorf("the table: %s", diff)
	}

	_, example, _ := strings.Cut(text, "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	var read struct{ Argv []string }
	if err := yaml.Unmarshal([]byte(example), &read); err != nil || len(read.Argv) != 2 {
		t.Fatalf("%v: %s", err, example)
	}
	dir := t.TempDir()
	here := strings.Replace(example, "python3", "go", 1) // which is there wherever this test is
	f, faults := blueprint.Parse(filepath.Join(dir, "crawl.yaml"), []byte(here))
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	argv, _, _, err := blueprint.Arguments(f, json.RawMessage(`{"url":"https://example.com","depth":3}`))
	if want := []string{"go", "crawl.py", "--url=https://example.com", "--depth=3"}; err != nil ||
		!slices.Equal(argv, want) {
		t.Errorf("%q, %v", argv, err)
	}
	if !strings.Contains(text, "`python3 "+strings.Join(argv[1:], " ")+"`") {
		t.Errorf("the document does not say %q", argv)
	}
}

// otherTables are the keys that other tables of the page describe.
var otherTables = []string{"agent_id", "subscriptions", "steps", "output"}
