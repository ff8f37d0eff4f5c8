// Package triggerinput says what an agent is given for an event that has woken it: the hub gives it
// so to a session, and the runner to a turn.
package triggerinput

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/parleyhub/parley"
)

// Parameters makes the parameters of an agent of an event: data.input, an object or the text of a
// prompt; without it, where the agent takes a prompt and nothing else, the text of the event or,
// where it has none, its data as JSON; for all others an empty object. Declared are the names of
// the parameters that the agent's schema has, sorted; data is the event's, valid JSON or nothing.
// There are parameters, compact, or what is wrong with the input.
func Parameters(declared []string, text string, data json.RawMessage) (json.RawMessage, []parley.ValidationError) {
	data = compact(data)
	if input, ok := inputOf(data); ok {
		var words string
		switch {
		case input[0] == '{':
			return input, nil
		case input[0] == '"' && json.Unmarshal(input, &words) == nil:
			return prompt(words), nil
		}
		return nil, []parley.ValidationError{{Path: "$.input", Message: "is neither an object nor a text"}}
	}
	if !slices.Equal(declared, []string{"prompt"}) {
		return json.RawMessage("{}"), nil
	}
	if text == "" {
		text = string(data)
	}
	return prompt(text), nil
}

// inputOf gives the member input of data that is an object.
func inputOf(data json.RawMessage) (input json.RawMessage, ok bool) {
	var members map[string]json.RawMessage
	if len(data) == 0 || data[0] != '{' || json.Unmarshal(data, &members) != nil {
		return nil, false
	}
	input, ok = members["input"]
	return input, ok
}

func prompt(text string) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(map[string]string{"prompt": text}) // a text is JSON, and a buffer takes it
	return compact(b.Bytes())
}

func compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}
