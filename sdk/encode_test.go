package sdk

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/parleyhub/parley"
)

// TestEncodeRefusesWhatIsNotUTF8: it would be sent as something else.
func TestEncodeRefusesWhatIsNotUTF8(t *testing.T) {
	t.Parallel()
	const bad = "caf\xe9"
	for name, params := range map[string]any{
		"a member":   &parley.CreateConversationParams{Title: bad},
		"in a list":  &parley.CreateConversationParams{Participants: []parley.Participant{{ID: "ann"}, {ID: bad}}},
		"of a type":  &parley.CreateTokenParams{AgentID: "ann", Scopes: []parley.Scope{bad}},
		"by pointer": &parley.SendMessageParams{Payload: json.RawMessage(`{}`), Outcome: &parley.Outcome{Reason: bad}},
	} {
		if body, err := encode(params); !errors.Is(err, parley.ErrInvalidParams) {
			t.Errorf("%s: %s, %v", name, body, err)
		}
	}
	for name, params := range map[string]any{
		"the character itself": &parley.CreateConversationParams{Title: "\ufffd"},
		"its escape, raw":      &parley.SendMessageParams{Payload: json.RawMessage(`{"text":"\ufffd"}`)},
		"a text that looks so": &parley.CreateConversationParams{Title: `\ufffd`},
	} {
		if _, err := encode(params); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
