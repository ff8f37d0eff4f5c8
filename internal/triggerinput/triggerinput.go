// Package triggerinput builds the input of an agent from the event that triggers it. The hub uses
// it for sessions, and the runner for turns.
package triggerinput

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/parleyhub/parley"
)

// Parameters returns the parameters of an agent for an event, as compact JSON, or the faults of the
// input.
//
//   - data.input is used if data has it: an object, or a string for the parameter prompt.
//   - Otherwise, for an agent whose only parameter is prompt, it is the text of the event, or its
//     data as JSON if the text is empty.
//   - All other agents get an empty object.
//
// declared has the sorted names of the properties of the agent's schema. data is valid JSON or
// empty.
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

// inputOf returns the member input of data, if data is an object that has it.
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
	_ = e.Encode(map[string]string{"prompt": text}) // a map of strings always encodes
	return compact(b.Bytes())
}

func compact(raw json.RawMessage) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}
