package hub

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/parleyhub/parley"
)

// checkJSON holds JSON from a caller inside the process against what the doors refuse on the wire: not UTF-8, half a surrogate
// pair, the same name twice in one object, nested too deep. On the wire it stands below outer levels. Nothing is no JSON of the caller's, and
// passes.
func checkJSON(raw json.RawMessage, outer int) error {
	if len(raw) == 0 {
		return nil
	}
	if !utf8.Valid(raw) || !json.Valid(raw) || halfSurrogate(raw) {
		return parley.Refuse(parley.ErrInvalidParams, "the payload is not JSON that can be kept exactly", "JSON in UTF-8 with whole surrogate pairs")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	n := nesting{most: parley.MaxDepth - outer}
	for {
		token, err := dec.Token()
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = n.take(token)
		}
		if err != nil {
			return err
		}
	}
}

// nesting follows the tokens of a JSON value.
type nesting struct {
	most int
	open []map[string]bool // the names seen in each open object; nil for an array
	name bool              // the next string is a name
}

func (n *nesting) take(token json.Token) error {
	switch t := token.(type) {
	case json.Delim:
		n.bracket(t)
		if len(n.open) > n.most {
			return parley.Refuse(parley.ErrParse, "JSON nests too deep", fmt.Sprintf("at most %d levels", parley.MaxDepth))
		}
	case string:
		if n.name {
			n.name = false // its value follows
			return n.named(t)
		}
	}
	n.name = len(n.open) > 0 && n.open[len(n.open)-1] != nil
	return nil
}

func (n *nesting) bracket(t json.Delim) {
	switch t {
	case '{':
		n.open = append(n.open, make(map[string]bool))
	case '[':
		n.open = append(n.open, nil)
	default:
		n.open = n.open[:len(n.open)-1]
	}
}

func (n *nesting) named(name string) error {
	names := n.open[len(n.open)-1]
	if names[name] {
		return parley.Refuse(parley.ErrInvalidParams, fmt.Sprintf("the payload has %q twice", name), "each name once")
	}
	names[name] = true
	return nil
}

// halfSurrogate reports whether valid JSON has an escape for half a surrogate pair, which two readers would read differently.
func halfSurrogate(raw []byte) bool {
	high := false // the escape before was the first half of a pair
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			if high {
				return true
			}
			continue
		}
		i++
		if raw[i] != 'u' {
			if high {
				return true
			}
			continue
		}
		unit, err := strconv.ParseUint(string(raw[i+1:i+5]), 16, 16)
		i += 4
		low := unit >= 0xDC00 && unit <= 0xDFFF
		if err != nil || high != low {
			return true
		}
		high = unit >= 0xD800 && unit <= 0xDBFF
	}
	return high
}
