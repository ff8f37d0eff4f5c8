package rpc

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
)

// Plain HTTP is turned into the object of params that the method would have by JSON-RPC, word for word: what is unknown, there twice, missing or
// of another type is then refused by the one decoder, in the same words.

// params gives the params that a request stands for.
func (rt *route) params(r *http.Request, body []byte) ([]byte, error) {
	if rt.verb != http.MethodPost {
		return rt.queryParams(r)
	}
	if r.URL.RawQuery != "" {
		return nil, parley.Refuse(parley.ErrInvalidParams, "the request has a query", "params in the JSON body")
	}
	p, err := rt.pathParams(r)
	if err != nil {
		return nil, err
	}
	return p.with(body)
}

// queryParams gives the params that the path and the query name. What the query says of others is for who asks.
func (rt *route) queryParams(r *http.Request, others ...string) ([]byte, error) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, parley.Refuse(parley.ErrInvalidParams, "the query cannot be read", "name=value&name=value, percent-encoded")
	}
	p, err := rt.pathParams(r)
	if err != nil {
		return nil, err
	}
	for _, name := range others {
		delete(query, name)
	}
	for _, name := range slices.Sorted(maps.Keys(query)) {
		for _, value := range query[name] {
			if err := p.add(name, rt.kinds[name], value); err != nil {
				return nil, err
			}
		}
	}
	return append(p, '}'), nil
}

// pathParams begins the object with what the path names.
func (rt *route) pathParams(r *http.Request) (object, error) {
	p := object{'{'}
	for _, name := range rt.inPath {
		if err := p.add(name, rt.kinds[name], r.PathValue(name)); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// object is a JSON object that is being written.
type object []byte

// add writes a member whose value is of a kind; a value that does not look like one of its kind stays text, which the decoder refuses.
func (o *object) add(name string, kind reflect.Kind, value string) error {
	if !utf8.ValidString(name) || !utf8.ValidString(value) {
		return parley.Refuse(parley.ErrInvalidParams, printable(name)+" is not valid UTF-8", "")
	}
	if len(*o) > 1 {
		*o = append(*o, ',')
	}
	*o = append(appendWire(*o, name), ':')
	switch {
	case (kind == reflect.Int || kind == reflect.Int64) && integer.MatchString(value), kind == reflect.Bool && (value == "true" || value == "false"):
		*o = append(*o, value...)
	case kind == reflect.Slice:
		*o = appendWire(*o, strings.Split(value, ","))
	default:
		*o = appendWire(*o, value)
	}
	return nil
}

var integer = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// with gives the object with the members of another, which is a text from outside; nothing is an empty one.
func (o object) with(text []byte) ([]byte, error) {
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

// printable is text of a caller's for an error.
func printable(s string) string {
	const most = 64
	if len(s) > most {
		s = s[:most]
	}
	return strings.ToValidUTF8(s, "?")
}
