package wire

import (
	"bytes"
	"encoding/json"
)

// jsonrpc2 decodes each response into interface{} once, to see what it is, and fails on numbers
// beyond a double, such as 1e400, which are JSON all the same. A frame on which it would fail is
// given to it with its result, and the data of its error, as strings.

// shelterMark begins such a string. No result of a hub is a string.
const shelterMark = "\x01raw:"

var shelterHead = []byte(`"\u0001raw:`)

// sheltered returns a frame that jsonrpc2 can read instead of the given one.
func sheltered(frame []byte) ([]byte, error) {
	var r struct {
		JSONRPC json.RawMessage            `json:"jsonrpc,omitempty"`
		ID      json.RawMessage            `json:"id,omitempty"`
		Result  json.RawMessage            `json:"result,omitempty"`
		Error   map[string]json.RawMessage `json:"error,omitempty"`
	}
	if err := json.Unmarshal(frame, &r); err != nil {
		return nil, err
	}
	if r.Result != nil {
		r.Result = shelter(r.Result)
	}
	if data, ok := r.Error["data"]; ok {
		r.Error["data"] = shelter(data)
	}
	return json.Marshal(r)
}

func shelter(raw json.RawMessage) json.RawMessage {
	b, err := json.Marshal(shelterMark + string(raw))
	if err != nil {
		panic(err) // a string can always be encoded
	}
	return b
}

// unsheltered returns the content of such a string, and any other value unchanged.
func unsheltered(raw json.RawMessage) json.RawMessage {
	if !bytes.HasPrefix(raw, shelterHead) {
		return raw
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return raw
	}
	return json.RawMessage(s[len(shelterMark):])
}
