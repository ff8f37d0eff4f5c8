// Package cards reads the file of A2A cards: the agents and scenarios that a hub shows over A2A,
// and the texts of their cards.
//
// The file is YAML or JSON. One table defines its members; [Parse] and the JSON Schema are derived
// from it. [Load] accepts a file as a whole, or refuses it with every fault found, each with its
// position.
package cards

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/scenario"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/shape"
	"github.com/parleyhub/parley/internal/yamlfile"
)

// File has all cards of a hub. The first card is also at the root of the address.
type File struct {
	Cards []Card `json:"cards"`
}

// Card is the A2A card of an agent or a scenario.
type Card struct {
	Name        string   `json:"name"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Version     string   `json:"version"`
	Skills      []Skill  `json:"skills"`
	InputModes  []string `json:"inputModes"`
	OutputModes []string `json:"outputModes"`
	Room        bool     `json:"room"`

	// A card has either Agent, or Scenario and Seat. Scenario is a path, relative to the directory of
	// the file.
	Agent    string `json:"agent"`
	Scenario string `json:"scenario"`
	Seat     string `json:"seat"`

	// Begins is the parsed scenario. It is nil with Agent.
	Begins *scenario.Scenario `json:"-"`
}

// Skill is one capability of an agent.
type Skill struct {
	ID          string   `json:"id"`
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
	Examples    []string `json:"examples"`
}

// maxCards equals the number of agents that one executor may run.
const maxCards = limits.MaxExecutorAgents

var root = &shape.Shape{Kind: shape.Object, Members: []shape.Member{
	shape.Must("cards", shape.ListOf("the agents that clients see over A2A; the first card is also at the root of the address", 1, maxCards, card)),
}}

var card = &shape.Shape{Kind: shape.Object, Doc: "an agent or a scenario that has a card", Members: []shape.Member{
	shape.Must("name", shape.ID("the last part of its URL: /a2a/NAME")),
	shape.May("agent", shape.ID("the name of the agent of the hub that answers")),
	shape.May("scenario", shape.Line("file of the scenario that starts each context, relative to this file", 4096)),
	shape.May("seat", shape.ID("the participant of the scenario that the caller speaks as")),
	shape.May("room", shape.Switch("keep a task open when it is the caller's turn again: its state is input-required, not completed")),
	shape.May("title", shape.Line("name on the card; absent, name", parley.MaxTitleBytes)),
	shape.May("description", shape.Prose("what it does", limits.MaxAgentDescriptionBytes)),
	shape.May("version", shape.Line("version of the agent; absent, that of the program", 64)),
	shape.May("inputModes", shape.ListOf("media types that it accepts", 1, 32, shape.Line("a media type", limits.MaxMediaTypeBytes))),
	shape.May("outputModes", shape.ListOf("media types that it returns", 1, 32, shape.Line("a media type", limits.MaxMediaTypeBytes))),
	shape.May("skills", shape.ListOf("what the agent can do; absent, one skill with its name and description", 1, 64, skill)),
}}

var skill = &shape.Shape{Kind: shape.Object, Doc: "a thing that it can do", Members: []shape.Member{
	shape.Must("id", shape.ID("its name for programs")),
	shape.May("name", shape.Line("its name for people; absent, id", parley.MaxTitleBytes)),
	shape.May("description", shape.Prose("what it is", limits.MaxAgentDescriptionBytes)),
	shape.May("tags", shape.ListOf("free labels", 0, limits.MaxTags, shape.Line("a label", limits.MaxTagBytes))),
	shape.May("examples", shape.ListOf("what one might say", 0, 32, shape.Prose("a message", limits.MaxAgentDescriptionBytes))),
}}

const expected = `expected cards, such as "cards: [{name: triage, agent: triage-v2}]"`

// Load reads a file and the scenarios that it names. The error is a yamlfile.Findings, or the error
// of reading the file.
func Load(path string) (*File, error) {
	text, err := yamlfile.Read(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, text)
}

// Parse reads the text of a file. Faults quote name as the file, and paths are relative to its
// directory.
func Parse(name string, text []byte) (*File, error) {
	r := &shape.Reader{File: name, Expected: expected}
	n, faults := yamlfile.Parse(text)
	f := &File{}
	if taken := r.Read(root, n, faults); taken != nil {
		if err := json.Unmarshal(taken, f); err != nil {
			panic(fmt.Sprintf("the table of cards does not fit its types: %v", err)) // a test compares them
		}
		f.checkCards(r, filepath.Dir(name))
	}
	if len(r.Findings) > 0 {
		r.Findings.Sort()
		return nil, r.Findings
	}
	return f, nil
}

// checkCards reports contradictions between the members of the file, and reads the scenarios.
func (f *File) checkCards(r *shape.Reader, dir string) {
	at := map[string]int{}
	for i := range f.Cards {
		c, path := &f.Cards[i], fmt.Sprintf("cards[%d]", i)
		if first, twice := at[c.Name]; twice && c.Name != "" {
			r.At(path+".name", fmt.Sprintf("it is the name of cards[%d] already", first))
		} else {
			at[c.Name] = i
		}
		if what, below := c.checkKind(); what != "" && !r.Faulty(path) {
			r.At(path+below, what)
			continue
		}
		if c.Scenario != "" {
			c.loadScenario(r, path, dir)
		}
	}
}

// checkKind returns the fault in the choice between agent and scenario, and the member that has it.
// It returns "" if there is no fault.
func (c *Card) checkKind() (what, below string) {
	switch {
	case c.Agent == "" && c.Scenario == "":
		return "expected agent, or scenario and seat", ""
	case c.Agent != "" && c.Scenario != "":
		return "expected agent or scenario, not both", ".scenario"
	case c.Agent != "" && c.Seat != "":
		return "seat goes with scenario only", ".seat"
	case c.Scenario != "" && c.Seat == "":
		return "expected seat: the participant of the scenario that the caller speaks as", ""
	}
	return "", ""
}

// loadScenario reads the scenario of a card and checks its seat.
func (c *Card) loadScenario(r *shape.Reader, path, dir string) {
	name := c.Scenario
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	s, err := scenario.Load(name)
	var wrong yamlfile.Findings
	switch {
	case errors.As(err, &wrong):
		r.Findings = append(r.Findings, wrong...) // each with its own file
		return
	case err != nil:
		r.At(path+".scenario", err.Error())
		return
	}
	i := slices.IndexFunc(s.Participants, func(p parley.Participant) bool { return p.ID == c.Seat })
	switch {
	case i < 0:
		r.At(path+".seat", fmt.Sprintf("the scenario has no participant %s", c.Seat))
	case s.Participants[i].Kind.Claims():
		r.At(path+".seat", fmt.Sprintf("expected a participant of kind peer or human, but %s is of kind %s", c.Seat, s.Participants[i].Kind))
	case s.Opening != nil:
		r.At(path+".scenario", "expected a scenario without an opening: the caller's message is the first")
	default:
		c.Begins = s
	}
}

// Schema returns the JSON Schema (draft 7) of the file. It is published as docs/cards.schema.json.
func Schema() []byte {
	o := root.Schema()
	o["title"] = "Parley A2A cards"
	o["description"] = "A file of parley serve --a2a-cards: the agent cards for clients of the Agent2Agent protocol."
	return yamlfile.EncodeSchema(o)
}
