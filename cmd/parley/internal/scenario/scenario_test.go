package scenario_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/scenario"
	"github.com/parleyhub/parley/internal/golden"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/yamlfile"
)

func files(t testing.TB, dir ...string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(append(dir, "*.yaml")...))
	if err != nil || len(names) == 0 {
		t.Fatal("no files", err)
	}
	return names
}

// TestFaults checks that each fault is reported at its position with the expected value, in the
// order of the file, and that no value is quoted.
func TestFaults(t *testing.T) {
	for _, name := range files(t, "testdata", "faults") {
		t.Run(filepath.Base(name), func(t *testing.T) {
			t.Chdir(filepath.Dir(name))
			_, err := scenario.Load(filepath.Base(name))
			faults, ok := err.(yamlfile.Findings)
			if !ok {
				t.Fatalf("%T %v, expected faults", err, err)
			}
			if lines := golden.CompareLines(t, strings.TrimSuffix(filepath.Base(name), ".yaml")+".txt", faults); strings.Contains(lines, "canary") {
				t.Error("a value is repeated")
			}
		})
	}
}

// TestGood: all that a file says arrives.
func TestGood(t *testing.T) {
	for _, name := range files(t, "testdata", "good") {
		if _, err := scenario.Load(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	s, err := scenario.Load(filepath.Join("testdata", "good", "all.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	p := s.Params()
	if got := string(p.Metadata); got != `{"case":17,"urgent":true,"weight":71.5,"none":null,"list":[1,"two",{"three":3}],"<":"<&>"}` {
		t.Errorf("metadata %s", got)
	}
	want := parley.Participant{
		ID: "clinic", Kind: parley.KindAgent, Agent: "clinic-v2", Role: "provider", Executor: parley.ExecutorExternal,
		Private: "The patient is known.\nAsk for the shorter scan first.\n",
	}
	if diff := cmp.Diff(want, p.Participants[1]); diff != "" {
		t.Error(diff)
	}
	for name, v := range map[string]any{"limits": *p.Limits, "opening": *s.Opening} {
		for i := range reflect.TypeOf(v).NumField() {
			field := reflect.TypeOf(v).Field(i)
			if reflect.ValueOf(v).Field(i).IsZero() && field.Name != "Next" { // which rules do not take
				t.Errorf("%s.%s is not set", name, field.Name)
			}
		}
	}
	if len(p.Policy.Rules) != 2 || p.Policy.Rules[1].Next != "clinic" || p.StartsWith != "nurse" || p.Title != "Prior authorization: MRI" {
		t.Errorf("%+v %+v", p, p.Policy)
	}
	m, err := s.Message("c1")
	if err != nil {
		t.Fatal(err)
	}
	const payload = `{"text":"Please ask for the scan.\n","data":{"case":17,"code":"72148"},"schema":"priorauth.case.v1","tags":["urgent","mri"]}`
	if string(m.Payload) != payload || m.ConversationID != "c1" || m.Turn != 1 || m.Finality != parley.FinalityTurn || m.ClientRequestID != scenario.OpeningKey {
		t.Errorf("%+v: %s", m, m.Payload)
	}
}

// TestAuthor: the opening is said by whom it names, else by who has turn 1; and its author has turn 1.
func TestAuthor(t *testing.T) {
	for text, want := range map[string]string{
		"opening: {text: hi}":                                             "ann",
		"{startsWith: bob, opening: {text: hi}}":                          "bob",
		"opening: {from: bob, text: hi}":                                  "bob",
		"{startsWith: bob, opening: {from: bob, text: hi}}":               "bob",
		"{policy: {kind: open}, opening: {from: bob, text: hi}}":          "bob",
		"{policy: {kind: open}, opening: {text: hi}}":                     "ann",
		"{policy: {kind: moderator, moderator: bob}, opening: {data: 5}}": "bob",
	} {
		flow := strings.TrimSuffix(strings.TrimPrefix(text, "{"), "}")
		if !strings.HasPrefix(text, "{") {
			flow = text
		}
		s, err := scenario.Parse("s.yaml", []byte("{participants: [{id: ann, kind: human}, {id: bob, kind: human}], "+flow+"}"))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if s.Author() != want || s.Params().StartsWith != want {
			t.Errorf("%s: by %s, turn 1 is of %s; expected %s", text, s.Author(), s.Params().StartsWith, want)
		}
	}
	s, err := scenario.Parse("s.yaml", []byte("participants: [{id: ann, kind: human}]"))
	if err != nil || s.Params().StartsWith != "" {
		t.Errorf("without an opening turn 1 is of %q, %v", s.Params().StartsWith, err)
	}
}

// TestNoFile: a file that is not there is the system's error.
func TestNoFile(t *testing.T) {
	if _, err := scenario.Load("nowhere.yaml"); !os.IsNotExist(err) {
		t.Error(err)
	}
	if _, err := scenario.Load(t.TempDir()); err == nil {
		t.Error("a directory was read")
	}
}

// TestTooMuch checks that a file that is larger or deeper than the limits of a hub has a fault.
func TestTooMuch(t *testing.T) {
	const seats = "participants: [{id: ann, kind: human}]\n"
	for text, want := range map[string]string{
		seats + "#" + strings.Repeat("x", 1<<20):                                                          "s.yaml:1:1: expected a file of at most 1048576 bytes",
		seats + "metadata: {a: " + strings.Repeat("x", limits.MaxMetadataBytes) + "}":                     "s.yaml:2:11: metadata: expected at most 16384 bytes as JSON",
		seats + "opening: {text: " + strings.Repeat("x", parley.MaxEventBytes-100) + "}":                  "s.yaml:2:10: opening: expected at most 917504 bytes as JSON",
		seats + "opening: {data: " + strings.Repeat("[", 100) + strings.Repeat("]", 100) + "}":            "nested at most 56 deep",
		"participants: [" + strings.Repeat("{id: a, kind: human},", 65) + "]":                             "s.yaml:1:15: participants: expected 1 to 64 items",
		"participants: [{id: ann, kind: human, private: " + strings.Repeat("x", 16<<10+1) + "}]":          "s.yaml:1:48: participants[0].private: expected 1 to 16384 bytes",
		"participants: [{id: ann, kind: human, role: " + strings.Repeat("é", 33) + "}]":                   "participants[0].role: expected 1 to 64 bytes",
		"participants: [{id: ann, kind: human, role: \"a\\u009bb\"}]":                                     "participants[0].role: expected text without control characters",
		"participants: [{id: ann, kind: human}]\npolicy: {kind: rules, rules: []}":                        "s.yaml:2:30: policy.rules: expected 1 to 32 items",
		"participants: [{id: ann, kind: human}]\nlimits: {stopWhen: '" + strings.Repeat("(", 2000) + "'}": "limits.stopWhen: ",
	} {
		_, err := scenario.Parse("s.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %.200v, expected %s", text, err, want)
		}
	}
}
