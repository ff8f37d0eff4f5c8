package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/parleyhub/parley"
)

// param is a --param as it was given.
type param struct {
	name, text string
	json       bool // text is JSON, whatever the schema says
}

// parseParam reads NAME=VALUE, NAME:=JSON, NAME=@FILE or NAME:=@FILE.
func (a *app) parseParam(given string) (param, error) {
	name, text, ok := strings.Cut(given, "=")
	p := param{name: name, text: text}
	p.name, p.json = strings.CutSuffix(p.name, ":")
	if !ok || p.name == "" {
		return p, usagef("--param %s: expected NAME=VALUE, NAME:=JSON or NAME=@FILE", clean(given))
	}
	if file, from := strings.CutPrefix(text, "@"); from {
		read, err := a.readBounded(file)
		if err != nil {
			return p, usagef("--param %s: %w", clean(p.name), err)
		}
		p.text = string(read)
	}
	switch {
	case !utf8.ValidString(p.name) || !utf8.ValidString(p.text):
		return p, usagef("--param %s: the value is not UTF-8", clean(p.name))
	case p.json && !json.Valid([]byte(p.text)):
		return p, usagef("--param %s: expected JSON after :=, with a text in quotes", clean(p.name))
	}
	return p, nil
}

// readBounded reads a file, or stdin for "-", that has to fit into a call.
func (a *app) readBounded(name string) ([]byte, error) {
	if name == "" {
		return nil, errors.New("the name of the file is empty: give it one, or - for stdin")
	}
	from := a.in
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, parley.MaxFrameBytes+1))
	if err == nil && len(text) > parley.MaxFrameBytes {
		err = fmt.Errorf("%s has more than %d bytes, and does not fit into a call", name, parley.MaxFrameBytes)
	}
	return text, err
}

// parameters are what a session is started with.
type parameters struct {
	members map[string]json.RawMessage
	schema  *paramTypes
}

// add takes params of one name. Several are the items of a list.
func (p *parameters) add(name string, given []param) error {
	types := p.schema.of(name)
	if len(given) == 1 {
		p.members[name] = types.value(given[0])
		return nil
	}
	if !types.has("array") {
		return usagef("--param %s is given %d times, and is no list", clean(name), len(given))
	}
	items := make([]json.RawMessage, len(given))
	for i, one := range given {
		items[i] = types.items().scalar(one)
	}
	p.members[name] = listOf(items)
	return nil
}

// readParameters reads the JSON object of --params.
func (a *app) readParameters(name string) (json.RawMessage, error) {
	text, err := a.readBounded(name)
	if err != nil {
		return nil, asUsage(fmt.Errorf("--params: %w", err))
	}
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")))
	var object map[string]json.RawMessage
	switch err := json.Unmarshal(text, &object); {
	case !utf8.Valid(text):
		return nil, usagef("--params %s: the text is not UTF-8", clean(name))
	case err != nil:
		return nil, usagef("--params %s: expected one JSON object: %w", clean(name), err)
	case object == nil:
		return nil, usagef("--params %s: expected one JSON object, not null", clean(name))
	}
	return text, nil
}

// assemble puts --params and --param together: what is given by --param is the stronger. Without --param the text of the file goes out as it is.
func assemble(file json.RawMessage, given []param, schema json.RawMessage) (json.RawMessage, error) {
	if len(given) == 0 {
		return file, nil
	}
	p := &parameters{members: map[string]json.RawMessage{}, schema: readTypes(schema)}
	if len(file) > 0 {
		if err := json.Unmarshal(file, &p.members); err != nil {
			return nil, err
		}
	}
	byName := map[string][]param{}
	var names []string
	for _, one := range given {
		if byName[one.name] == nil {
			names = append(names, one.name)
		}
		byName[one.name] = append(byName[one.name], one)
	}
	for _, name := range names {
		if err := p.add(name, byName[name]); err != nil {
			return nil, err
		}
	}
	return encodePlain(p.members)
}

func listOf(items []json.RawMessage) json.RawMessage {
	return json.RawMessage("[" + string(bytes.Join(rawBytes(items), []byte(","))) + "]")
}

func rawBytes(items []json.RawMessage) [][]byte {
	all := make([][]byte, len(items))
	for i, item := range items {
		all[i] = item
	}
	return all
}

// encodePlain is JSON without HTML escapes.
func encodePlain(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}
