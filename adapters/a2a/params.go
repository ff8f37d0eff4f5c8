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

// paramShape says which members an object of the protocol has. Their names are taken in camelCase and, as parsers of Protocol Buffers do, in snake_case. What else is
// there is dropped. Values without a shape are of the caller, such as metadata and data, or have no members: they are taken as they are.
type paramShape struct {
	names  map[string]string // each spelling to the name
	inside map[string]*paramShape
}

// shaped makes a shape of names, with spaces between; old=name is another spelling of name.
func shaped(names string, inside map[string]*paramShape) *paramShape {
	s := &paramShape{names: map[string]string{}, inside: inside}
	for spelling := range strings.FieldsSeq(names) {
		other, name, is := strings.Cut(spelling, "=")
		if !is {
			name = other
		}
		s.names[other], s.names[snake(other)], s.names[name], s.names[snake(name)] = name, name, name, name
	}
	for name := range inside {
		s.names[name], s.names[snake(name)] = name, name
	}
	return s
}

// snake is a name of camelCase in snake_case.
func snake(name string) string {
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
	authenticationShape = shaped("scheme credentials", nil)
	pushShape           = shaped("tenant id taskId url token", map[string]*paramShape{"authentication": authenticationShape})
	partShape           = shaped("text raw url data filename mediaType metadata", nil)
	messageShape        = shaped("messageId contextId taskId role metadata extensions referenceTaskIds", map[string]*paramShape{"parts": partShape})
	configurationShape  = shaped("acceptedOutputModes historyLength returnImmediately blocking", map[string]*paramShape{"taskPushNotificationConfig": pushShape})
	sendShape           = shaped("tenant metadata", map[string]*paramShape{"message": messageShape, "configuration": configurationShape})

	shapes = map[operation]*paramShape{
		opSend: sendShape, opStream: sendShape,
		opGet:        shaped("tenant id historyLength", nil),
		opList:       shaped("tenant contextId status pageSize pageToken historyLength statusTimestampAfter includeArtifacts", nil),
		opCancel:     shaped("tenant id metadata", nil),
		opSubscribe:  shaped("tenant id", nil),
		opPushCreate: pushShape,
		opPushGet:    shaped("tenant taskId id", nil),
		opPushList:   shaped("tenant taskId pageSize pageToken", nil),
		opPushDelete: shaped("tenant taskId id", nil),
		opCard:       shaped("tenant", nil),
	}
)

// checkJSON refuses what is no JSON, no UTF-8, or nested deeper than the hub takes it.
func checkJSON(raw []byte) error {
	switch {
	case !utf8.Valid(raw):
		return a2a.NewError(a2a.ErrParseError, "the body is not UTF-8")
	case depth(raw) > limits.MaxDepth:
		return a2a.NewError(a2a.ErrParseError, fmt.Sprintf("the body is nested deeper than %d", limits.MaxDepth))
	case !json.Valid(raw):
		return a2a.NewError(a2a.ErrParseError, "the body is not JSON")
	}
	return nil
}

// eachMember goes through the members of a JSON object that is valid.
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

// canonical gives a value with its members under their names in camelCase, those that are null or unknown left out. One that is there twice is refused.
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
			return invalid("%s is there twice", below(at, name))
		}
		v, err := s.inside[name].canonical(below(at, name), v)
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

func below(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

// objectOf refuses parameters that are no object; none are an empty one.
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

// decode reads parameters of version 1.0, JSON that is valid.
func (f *front) decode(o operation, raw json.RawMessage) (any, error) {
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

// hintBlocking says why a member of 0.3 in a request of 1.0 has no effect: to log it is all that the specification leaves.
func (f *front) hintBlocking(raw json.RawMessage) {
	var q struct {
		Configuration struct {
			Blocking json.RawMessage `json:"blocking"`
		} `json:"configuration"`
	}
	if json.Unmarshal(raw, &q) == nil && q.Configuration.Blocking != nil {
		f.log.Debug("a request of A2A 1.0 has configuration.blocking, which is of 0.3 and is ignored: 1.0 has returnImmediately")
	}
}

// readInto unmarshals, and says in words of the protocol what does not fit.
func readInto(raw json.RawMessage, into any) error {
	err := json.Unmarshal(raw, into)
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &kind) && kind.Field != "":
		return invalid("%s may not be a %s", kind.Field, kind.Value)
	case errors.As(err, &kind):
		return invalid("a %s stands where something else is wanted", kind.Value)
	}
	return invalid("%s", strings.TrimPrefix(err.Error(), "json: "))
}
