// Package scenario reads scenarios: files that say how a conversation begins.
//
// A scenario is all of createConversation but its ids, and an opening message, in YAML or JSON. One
// table says what there is; from it come what [Parse] takes and the JSON Schema. A file is taken
// whole or refused with every fault that was found, each with its place.
package scenario

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/shape"
	"github.com/parleyhub/parley/internal/yamlfile"
)

// Scenario is how a conversation begins.
type Scenario struct {
	Title        string               `json:"title"`
	Participants []parley.Participant `json:"participants"`
	Policy       *parley.Policy       `json:"policy"`
	StartsWith   string               `json:"startsWith"`
	Limits       *parley.Limits       `json:"limits"`
	Metadata     json.RawMessage      `json:"metadata"`
	Workspace    string               `json:"workspace"`
	// Opening is the first message; nil: nobody has said anything yet.
	Opening *Opening `json:"opening"`

	opening yamlfile.Finding // the place of Opening
}

// Opening is the message with which its author begins and ends turn 1.
type Opening struct {
	// From is the author; empty: who has turn 1.
	From string `json:"from"`
	// Next names who shall be next, for the policies that take it.
	Next   string          `json:"next"`
	Text   string          `json:"text"`
	Data   json.RawMessage `json:"data"`
	Schema string          `json:"schema"`
	Tags   []string        `json:"tags"`
}

// Params gives the params of createConversation. With an opening its author has turn 1, so that
// nobody comes before it.
func (s *Scenario) Params() *parley.CreateConversationParams {
	return &parley.CreateConversationParams{
		Title: s.Title, Participants: s.Participants, Policy: s.Policy, StartsWith: s.starter(), Limits: s.Limits,
		Metadata:  s.Metadata,
		Workspace: s.Workspace,
	}
}

// starter is who has turn 1, where the scenario says it.
func (s *Scenario) starter() string {
	if s.Opening == nil {
		return s.StartsWith
	}
	return s.Author()
}

// Author is who says the opening: by default who has turn 1, which is the moderator or the first
// participant unless startsWith says otherwise.
func (s *Scenario) Author() string {
	first := ""
	if len(s.Participants) > 0 {
		first = s.Participants[0].ID
	}
	if s.Policy != nil && s.Policy.Kind == parley.PolicyModerator {
		first = s.Policy.Moderator
	}
	return cmp.Or(s.Opening.From, s.StartsWith, first)
}

// OpeningKey is the clientRequestId of an opening: said again, it is said once.
const OpeningKey = "parley.opening"

// Message gives the call that says the opening in a conversation.
func (s *Scenario) Message(conversationID string) (*parley.SendMessageParams, error) {
	payload, err := s.Opening.payload()
	if err != nil {
		return nil, err
	}
	p := &parley.SendMessageParams{
		ConversationID: conversationID, Payload: payload, Finality: parley.FinalityTurn, Turn: 1, ClientRequestID: OpeningKey,
	}
	if s.Opening.Next != "" {
		p.TurnHint = &parley.TurnHint{Next: s.Opening.Next}
	}
	return p, nil
}

func (o *Opening) payload() (json.RawMessage, error) {
	return json.Marshal(parley.Message{Text: o.Text, Data: o.Data, Schema: o.Schema, Tags: o.Tags})
}

// Load reads the scenario in a file. The error is yamlfile.Findings, or that of a file that cannot
// be read.
func Load(path string) (*Scenario, error) {
	text, err := yamlfile.Read(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, text)
}

// Parse reads the text of a scenario; name is what faults call it. The error is yamlfile.Findings,
// all of them.
func Parse(name string, text []byte) (*Scenario, error) {
	r := &shape.Reader{File: name, Expected: expectedScenario, Hint: flagged}
	n, faults := yamlfile.Parse(text)
	s := &Scenario{}
	if taken := r.Read(root, n, faults); taken != nil {
		if err := json.Unmarshal(taken, s); err != nil {
			panic(fmt.Sprintf("the table of scenarios does not fit its types: %v", err)) // a test holds them together
		}
		s.agree(r)
	}
	if len(r.Findings) > 0 {
		r.Findings.Sort()
		return nil, r.Findings
	}
	s.opening = r.Finding("opening", "")
	return s, nil
}

const expectedScenario = `expected a scenario, such as "participants: [{id: ann, kind: human}]"`

// flagged tells of params of createConversation that no file says, because they are another's each
// time.
func flagged(path, name string) string {
	flags := map[string]string{"conversationId": "--id", "clientRequestId": "--key"}
	if flag, ok := flags[name]; ok && path == "" {
		return ": it is the flag " + flag + " of 'parley conversation create'"
	}
	return ""
}

// Schema gives the JSON Schema (draft 7) of a scenario, as it stands in docs/scenario.schema.json.
func Schema() []byte {
	o := root.Schema()
	o["title"] = "Parley scenario"
	o["description"] = "A file of parley conversation create --scenario: how a conversation begins."
	return yamlfile.EncodeSchema(o)
}

// Warnings tell of what is allowed and perhaps not meant.
func (s *Scenario) Warnings() yamlfile.Findings {
	if s.Opening == nil {
		return nil
	}
	for _, p := range s.Participants {
		if p.ID == s.Author() && p.Kind.Claims() {
			w := s.opening
			w.What = fmt.Sprintf("its author, %s, is of kind %s: if it runs already, it may speak before its opening is said",
				p.ID, p.Kind)
			return yamlfile.Findings{w}
		}
	}
	return nil
}
