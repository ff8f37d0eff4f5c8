package hub

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/parleyhub/parley"
)

// checkJSON holds JSON from a caller inside the process against what the doors refuse on the wire: not UTF-8, deeper than
// MaxDepth, the same name twice in one object. Nothing is no JSON of the caller's, and passes.
func checkJSON(raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	if !utf8.Valid(raw) || !json.Valid(raw) {
		return parley.Refuse(parley.ErrInvalidParams, "the payload is not JSON", "JSON in UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var open []map[string]bool // the names seen in each open object; nil for an array
	name := false              // the next string is a name
	for {
		token, err := dec.Token()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return parley.Refuse(parley.ErrInvalidParams, "the payload is not JSON", "JSON")
		}
		switch t := token.(type) {
		case json.Delim:
			switch t {
			case '{':
				open = append(open, make(map[string]bool))
			case '[':
				open = append(open, nil)
			default:
				open = open[:len(open)-1]
			}
			if len(open) > parley.MaxDepth-2 { // params and payload are two levels
				return parley.Refuse(parley.ErrParse, "JSON nests too deep", fmt.Sprintf("at most %d levels", parley.MaxDepth))
			}
		case string:
			if name {
				names := open[len(open)-1]
				if names[t] {
					return parley.Refuse(parley.ErrInvalidParams, fmt.Sprintf("the payload has %q twice", t), "each name once")
				}
				names[t] = true
				name = false
				continue // its value follows
			}
		}
		name = len(open) > 0 && open[len(open)-1] != nil
	}
}
