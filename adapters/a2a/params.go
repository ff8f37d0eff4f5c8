package a2a

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/parleyhub/parley/internal/limits"
)

// paramShape lists the members of an object of the protocol. Names are accepted in camelCase and,
// as in parsers of Protocol Buffers, in snake_case. Other members are dropped. Values without a
// shape belong to the caller, such as metadata and data, or have no members: they are not changed.
type paramShape struct {
	names  map[string]string // from each spelling to the name
	inside map[string]*paramShape
}

// newShape returns a shape from names with spaces between them. old=name is another spelling of
// name.
func newShape(names string, inside map[string]*paramShape) *paramShape {
	s := &paramShape{names: map[string]string{}, inside: inside}
	for spelling := range strings.FieldsSeq(names) {
		other, name, is := strings.Cut(spelling, "=")
		if !is {
			name = other
		}
		s.names[other], s.names[snakeCase(other)], s.names[name], s.names[snakeCase(name)] = name, name, name, name
	}
	for name := range inside {
		s.names[name], s.names[snakeCase(name)] = name, name
	}
	return s
}

// snakeCase converts a name from camelCase to snake_case.
func snakeCase(name string) string {
	var b strings.Builder
	for _, c := range name {
		if c >= 'A' && c <= 'Z' {
			b.WriteByte('_')
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}

// The parameters of version 1.0.
var (
	authenticationShape = newShape("scheme credentials", nil)
	pushShape           = newShape("tenant id taskId url token",
		map[string]*paramShape{"authentication": authenticationShape})
	partShape    = newShape("text raw url data filename mediaType metadata", nil)
	messageShape = newShape("messageId contextId taskId role metadata extensions referenceTaskIds",
		map[string]*paramShape{"parts": partShape})
	configurationShape = newShape("acceptedOutputModes historyLength returnImmediately blocking",
		map[string]*paramShape{"taskPushNotificationConfig": pushShape})
	sendShape = newShape("tenant metadata", map[string]*paramShape{"message": messageShape,
		"configuration": configurationShape})

	shapes = map[operation]*paramShape{
		opSend: sendShape, opStream: sendShape,
		opGet: newShape("tenant id historyLength", nil),
		opList: newShape("tenant contextId status pageSize pageToken historyLength statusTimestampAfter "+
			"includeArtifacts", nil),
		opCancel:     newShape("tenant id metadata", nil),
		opSubscribe:  newShape("tenant id", nil),
		opPushCreate: pushShape,
		opPushGet:    newShape("tenant taskId id", nil),
		opPushList:   newShape("tenant taskId pageSize pageToken", nil),
		opPushDelete: newShape("tenant taskId id", nil),
		opCard:       newShape("tenant", nil),
	}
)

// checkJSON refuses text that is not JSON, not UTF-8, or nested more deeply than the hub allows.
func checkJSON(raw []byte) error {
	switch {
	case !utf8.Valid(raw):
		return a2a.NewError(a2a.ErrParseError, "the body is not UTF-8")
	case depth(raw) > limits.MaxDepth:
		return a2a.NewError(a2a.ErrParseError, fmt.Sprintf("the body is nested more deeply than %d levels", limits.MaxDepth))
	case !json.Valid(raw):
		return a2a.NewError(a2a.ErrParseError, "the body is not JSON")
	}
	return nil
}

// eachMember calls visit for each member of a valid JSON object.
func eachMember(object []byte, visit func(name string, value json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		name, _ := t.(string)
		if err := visit(name, value); err != nil {
			return err
		}
	}
	return nil
}

// canonical returns a value with its members under their camelCase names. It drops null and unknown
// members, and refuses duplicates.
func (s *paramShape) canonical(at string, value json.RawMessage) (json.RawMessage, error) {
	value = bytes.TrimSpace(value)
	switch {
	case s == nil || len(value) == 0:
		return value, nil
	case value[0] == '[':
		return s.canonicalList(at, value)
	case value[0] != '{':
		return value, nil
	}
	seen := map[string]bool{}
	out := []byte{'{'}
	err := eachMember(value, func(spelling string, v json.RawMessage) error {
		name, known := s.names[spelling]
		if !known || string(v) == "null" {
			return nil
		}
		if seen[name] {
			return invalid("duplicate member %s", joinPath(at, name))
		}
		v, err := s.inside[name].canonical(joinPath(at, name), v)
		if err != nil {
			return err
		}
		if len(seen) > 0 {
			out = append(out, ',')
		}
		seen[name] = true
		out = append(append(append(out, '"'), name...), '"', ':')
		out = append(out, v...)
		return nil
	})
	return append(out, '}'), err
}

func (s *paramShape) canonicalList(at string, value json.RawMessage) (json.RawMessage, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(value, &items); err != nil {
		return nil, err
	}
	for i, item := range items {
		v, err := s.canonical(fmt.Sprintf("%s[%d]", at, i), item)
		if err != nil {
			return nil, err
		}
		items[i] = v
	}
	return json.Marshal(items)
}

func joinPath(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

// objectOf refuses parameters that are not an object. Missing parameters become an empty object.
func objectOf(raw json.RawMessage) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0 || string(raw) == "null":
		return json.RawMessage("{}"), nil
	case raw[0] != '{':
		return nil, invalid("the parameters are not an object")
	}
	return raw, nil
}

// decode parses valid JSON parameters of version 1.0.
func (f *httpServer) decode(o operation, raw json.RawMessage) (any, error) {
	raw, err := objectOf(raw)
	if err == nil {
		raw, err = shapes[o].canonical("", raw)
	}
	if err != nil {
		return nil, err
	}
	req := newRequest(o)
	if err := readInto(raw, req); err != nil {
		return nil, err
	}
	if o == opSend || o == opStream {
		f.hintBlocking(raw)
	}
	return req, nil
}

// hintBlocking logs that a member of 0.3 in a request of 1.0 has no effect. The specification
// allows nothing else.
func (f *httpServer) hintBlocking(raw json.RawMessage) {
	var q struct {
		Configuration struct {
			Blocking json.RawMessage `json:"blocking"`
		} `json:"configuration"`
	}
	if json.Unmarshal(raw, &q) == nil && q.Configuration.Blocking != nil {
		f.log.Debug("ignored configuration.blocking in a request of A2A 1.0, which has returnImmediately instead")
	}
}

// readInto unmarshals raw, and converts errors to errors of the protocol.
func readInto(raw json.RawMessage, into any) error {
	err := json.Unmarshal(raw, into)
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &kind) && kind.Field != "":
		return invalid("invalid type of %s: %s", kind.Field, kind.Value)
	case errors.As(err, &kind):
		return invalid("invalid type: %s", kind.Value)
	}
	return invalid("%s", strings.TrimPrefix(err.Error(), "json: "))
}
