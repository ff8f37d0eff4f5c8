package httpapi

import (
	"bytes"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/wire"
	"github.com/parleyhub/parley/rpc/internal/calls"
)

// A request over plain HTTP becomes the params object that it would have in JSON-RPC, text for text.
// So one decoder refuses unknown, duplicate, missing and mistyped members, with the same messages.

// readParams returns the params of a request as JSON.
func (rt *route) readParams(r *http.Request, body []byte) ([]byte, error) {
	if rt.verb != http.MethodPost {
		return rt.readQuery(r)
	}
	if r.URL.RawQuery != "" {
		return nil, parley.Refuse(parley.ErrInvalidParams, "the request has a query", "params in the JSON body")
	}
	p, err := rt.readPath(r)
	if err != nil {
		return nil, err
	}
	return p.closeWith(body)
}

// readQuery returns the params in the path and the query as JSON, without the query params others.
func (rt *route) readQuery(r *http.Request, others ...string) ([]byte, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, parley.Refuse(parley.ErrInvalidParams, "the query cannot be read",
			"name=value&name=value, percent-encoded")
	}
	p, err := rt.readPath(r)
	if err != nil {
		return nil, err
	}
	for _, name := range others {
		delete(query, name)
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		for _, value := range query[name] {
			if err := p.addMember(name, rt.kinds[name], value); err != nil {
				return nil, err
			}
		}
	}
	return append(p, '}'), nil
}

// readPath returns the first part of the object, with the params in the path.
func (rt *route) readPath(r *http.Request) (object, error) {
	p := object{'{'}
	for _, name := range rt.inPath {
		if err := p.addMember(name, rt.kinds[name], r.PathValue(name)); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// object is the first part of a JSON object.
type object []byte

// addMember adds a member with a value of a kind. A value of another form stays text, which the
// decoder refuses.
func (o *object) addMember(name string, kind reflect.Kind, value string) error {
	if !utf8.ValidString(name) || !utf8.ValidString(value) {
		return parley.Refuse(parley.ErrInvalidParams, printable(name)+" is not valid UTF-8", "")
	}
	if len(*o) > 1 {
		*o = append(*o, ',')
	}
	*o = append(calls.MustAppendJSON(*o, name), ':')
	switch {
	case (kind == reflect.Int || kind == reflect.Int64) && integer.MatchString(value),
		kind == reflect.Bool && (value == "true" || value == "false"):
		*o = append(*o, value...)
	case kind == reflect.Slice:
		*o = calls.MustAppendJSON(*o, strings.Split(value, ","))
	default:
		*o = calls.MustAppendJSON(*o, value)
	}
	return nil
}

var integer = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// closeWith returns the whole object, with the members of another one that a caller sent. An empty
// text counts as an empty object.
func (o object) closeWith(text []byte) ([]byte, error) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return append(o, '}'), nil
	}
	if err := wire.CheckObject(text); err != nil {
		return nil, err
	}
	rest := bytes.TrimSpace(text[1:])
	if len(o) > 1 && rest[0] != '}' {
		o = append(o, ',')
	}
	return append(o, rest...), nil
}

// printable returns text of a caller for an error.
func printable(s string) string {
	const most = 64
	if len(s) > most {
		s = s[:most]
	}
	return strings.ToValidUTF8(s, "?")
}
