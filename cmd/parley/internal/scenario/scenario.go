// Package scenario reads scenarios. A scenario is a file that describes the start of a
// conversation.
//
// A scenario has the params of createConversation except the ids, and an opening message, in YAML
// or JSON. One table defines its members; [Parse] and the JSON Schema are derived from it. [Load]
// accepts a file as a whole, or refuses it with every fault found, each with its position.
package scenario

import (
	"cmp"
	"encoding/json"
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/shape"
	"github.com/parleyhub/parley/internal/yamlfile"
)

// Scenario is the content of a scenario file.
type Scenario struct {
	Title        string               `json:"title"`
	Participants []parley.Participant `json:"participants"`
	Policy       *parley.Policy       `json:"policy"`
	StartsWith   string               `json:"startsWith"`
	Limits       *parley.Limits       `json:"limits"`
	Metadata     json.RawMessage      `json:"metadata"`
	Workspace    string               `json:"workspace"`
	// Opening is the first message. If it is nil, the conversation starts without messages.
	Opening *Opening `json:"opening"`

	opening yamlfile.Finding // the position of Opening
}

// Opening is the message that is turn 1.
type Opening struct {
	// From is the author. If it is empty, the participant that has turn 1 is the author.
	From string `json:"from"`
	// Next names the next participant, for the policies that take a hint.
	Next   string          `json:"next"`
	Text   string          `json:"text"`
	Data   json.RawMessage `json:"data"`
	Schema string          `json:"schema"`
	Tags   []string        `json:"tags"`
}

// Params returns the params of createConversation. With an opening, its author has turn 1, so that
// no other message comes first.
func (s *Scenario) Params() *parley.CreateConversationParams {
	return &parley.CreateConversationParams{
		Title: s.Title, Participants: s.Participants, Policy: s.Policy, StartsWith: s.starter(), Limits: s.Limits,
		Metadata:  s.Metadata,
		Workspace: s.Workspace,
	}
}

// starter returns the participant that has turn 1, or "" if the scenario does not name one.
func (s *Scenario) starter() string {
	if s.Opening == nil {
		return s.StartsWith
	}
	return s.Author()
}

// Author returns the author of the opening. The default is the participant that has turn 1:
// startsWith, or else the moderator or the first participant.
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

// OpeningKey is the clientRequestId of an opening. A second attempt has no effect.
const OpeningKey = "parley.opening"

// Message returns the params of the sendMessage call that posts the opening in a conversation.
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

// Load reads a scenario file. The error is a yamlfile.Findings, or the error of reading the file.
func Load(path string) (*Scenario, error) {
	text, err := yamlfile.Read(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, text)
}

// Parse reads the text of a scenario. Faults quote name as the file. The error is a
// yamlfile.Findings with all faults.
func Parse(name string, text []byte) (*Scenario, error) {
	r := &shape.Reader{File: name, Expected: expectedScenario, Hint: flagHint}
	n, faults := yamlfile.Parse(text)
	s := &Scenario{}
	if taken := r.Read(root, n, faults); taken != nil {
		if err := json.Unmarshal(taken, s); err != nil {
			panic(fmt.Sprintf("the table of scenarios does not fit its types: %v", err)) // a test compares them
		}
		s.checkConsistency(r)
	}
	if len(r.Findings) > 0 {
		r.Findings.Sort()
		return nil, r.Findings
	}
	s.opening = r.Finding("opening", "")
	return s, nil
}

const expectedScenario = `expected a scenario, such as "participants: [{id: ann, kind: human}]"`

// flagHint returns a hint for params of createConversation that are flags, because each
// conversation has its own value.
func flagHint(path, name string) string {
	flags := map[string]string{"conversationId": "--id", "clientRequestId": "--key"}
	if flag, ok := flags[name]; ok && path == "" {
		return ": it is the flag " + flag + " of 'parley conversation create'"
	}
	return ""
}

// Schema returns the JSON Schema (draft 7) of a scenario. It is published as
// docs/scenario.schema.json.
func Schema() []byte {
	o := root.Schema()
	o["title"] = "Parley scenario"
	o["description"] = "A file of parley conversation create --scenario: how a conversation begins."
	return yamlfile.EncodeSchema(o)
}

// Warnings returns findings about valid members that may not have the intended effect.
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
