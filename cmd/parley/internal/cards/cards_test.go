package cards_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parleyhub/parley/cmd/parley/internal/cards"
	"github.com/parleyhub/parley/internal/golden"
)

// TestSchemaIsPublished: docs/cards.schema.json is the schema of what is taken.
func TestSchemaIsPublished(t *testing.T) {
	golden.Compare(t, filepath.Join("..", "..", "..", "..", "docs", "cards.schema.json"), cards.Schema())
}

const seats = "participants: [{id: visitor, kind: peer}, {id: nurse, kind: agent}]\n"

// TestLoad: a file is taken with its scenarios, whose paths begin where the file is.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "triage.yaml", seats)
	write(t, dir, "cards.yaml", `
cards:
  - name: echo
    agent: echo-v2
    title: Echo
    skills: [{id: say, name: Say it again, tags: [fun], examples: [hello]}]
  - {name: triage, scenario: triage.yaml, seat: visitor, room: true}
`)
	f, err := cards.Load(filepath.Join(dir, "cards.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if c := f.Cards[0]; c.Agent != "echo-v2" || c.Title != "Echo" || c.Skills[0].Examples[0] != "hello" ||
		c.Begins != nil {
		t.Errorf("the first card: %+v", c)
	}
	if c := f.Cards[1]; !c.Room || c.Begins == nil || len(c.Begins.Participants) != 2 {
		t.Errorf("the second card: %+v", c)
	}
}

// TestFaults checks that each fault is reported at its position.
func TestFaults(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "good.yaml", seats)
	write(t, dir, "opened.yaml", seats+"opening: {from: visitor, text: hello}\n")
	write(t, dir, "bad.yaml", "participants: [{id: visitor, kind: pear}]\n")
	for _, c := range []struct{ text, want string }{
		{"", "expected cards"},
		{"cards: []", "cards"},
		{"cards: [{name: a}]", "expected agent, or scenario and seat"},
		{"cards: [{name: a, agent: x, scenario: good.yaml, seat: visitor}]", "not both"},
		{"cards: [{name: a, agent: x, seat: visitor}]", "seat goes with scenario only"},
		{"cards: [{name: a, scenario: good.yaml}]", "expected seat"},
		{"cards: [{name: a, scenario: good.yaml, seat: ann}]", "no participant ann"},
		{"cards: [{name: a, scenario: good.yaml, seat: nurse}]", "kind peer or human"},
		{"cards: [{name: a, scenario: opened.yaml, seat: visitor}]", "without an opening"},
		{"cards: [{name: a, scenario: bad.yaml, seat: visitor}]", "bad.yaml:1"},
		{"cards: [{name: a, scenario: none.yaml, seat: visitor}]", "none.yaml"},
		{"cards: [{name: a, agent: x}, {name: a, agent: y}]", "it is the name of cards[0] already"},
		{"cards: [{name: a/b, agent: x}]", "name"},
		{"cards: [{name: a, agnet: x}]", "agnet"},
	} {
		write(t, dir, "cards.yaml", c.text)
		_, err := cards.Load(filepath.Join(dir, "cards.yaml"))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, expected it to say %q", c.text, err, c.want)
		}
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
