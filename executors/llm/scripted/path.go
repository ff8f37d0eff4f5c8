package scripted

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// step is a part of a path: the name of a member, or the index of an item.
type step struct {
	name  string
	index int // -1 for a name
}

var pathPart = regexp.MustCompile(`^(?:\.?([A-Za-z0-9_-]+)|\[([0-9]{1,6})\])`)

var errPath = errors.New("invalid path")

// parsePath parses a path such as case.id or items[0].name. A leading $ is ignored.
func parsePath(text string) ([]step, error) {
	rest := strings.TrimPrefix(strings.TrimPrefix(text, "$"), ".")
	var steps []step
	for rest != "" {
		m := pathPart.FindStringSubmatch(rest)
		switch {
		case m == nil:
			return nil, errPath
		case m[2] != "":
			i, _ := strconv.Atoi(m[2]) // at most six digits
			steps = append(steps, step{index: i})
		default:
			steps = append(steps, step{name: m[1], index: -1})
		}
		rest = rest[len(m[0]):]
	}
	if len(steps) == 0 {
		return nil, errPath
	}
	return steps, nil
}

// lookup returns the value at a path.
func lookup(value any, steps []step) (any, bool) {
	for _, s := range steps {
		switch v := value.(type) {
		case map[string]any:
			below, ok := v[s.name]
			if s.index >= 0 || !ok {
				return nil, false
			}
			value = below
		case []any:
			if s.index < 0 || s.index >= len(v) {
				return nil, false
			}
			value = v[s.index]
		default:
			return nil, false
		}
	}
	return value, true
}

// decode reads a text with exactly one JSON value.
func decode(text string) (any, bool) {
	v, dec, err := begin(text)
	if err != nil {
		return nil, false
	}
	_, err = dec.Token()
	return v, errors.Is(err, io.EOF)
}

// first reads the JSON value at the start of a text.
func first(text string) (any, bool) {
	v, _, err := begin(text)
	return v, err == nil
}

func begin(text string) (v any, dec *json.Decoder, err error) {
	dec = json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	err = dec.Decode(&v)
	return v, dec, err
}

// maxDocuments limits the positions that documents tries.
const maxDocuments = 64

// documents returns the JSON objects in a text.
func documents(text string) []any {
	var found []any
	for range maxDocuments {
		at := strings.IndexByte(text, '{')
		if at < 0 {
			break
		}
		text = text[at:]
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber()
		var v map[string]any
		if dec.Decode(&v) != nil {
			text = text[1:]
			continue
		}
		found = append(found, v)
		text = text[dec.InputOffset():]
	}
	return found
}

// encode returns a value as JSON.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // v was decoded
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

// same reports whether two values are equal as JSON. Numbers are compared as text.
func same(a, b any) bool { return bytes.Equal(encode(a), encode(b)) }
