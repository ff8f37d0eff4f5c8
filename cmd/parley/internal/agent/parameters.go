package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
)

// Parameter is a --param as it was given.
type Parameter struct {
	name, text string
	json       bool // text is JSON, whatever the schema says
}

// ParseParameter reads NAME=VALUE, NAME:=JSON, NAME=@FILE or NAME:=@FILE.
func ParseParameter(a *cli.App, given string) (Parameter, error) {
	name, text, ok := strings.Cut(given, "=")
	p := Parameter{name: name, text: text}
	p.name, p.json = strings.CutSuffix(p.name, ":")
	if !ok || p.name == "" {
		return p, exit.Usagef("--param %s: expected NAME=VALUE, NAME:=JSON or NAME=@FILE", cli.Clean(given))
	}
	if file, from := strings.CutPrefix(text, "@"); from {
		read, err := a.ReadBounded(file)
		if err != nil {
			return p, exit.Usagef("--param %s: %w", cli.Clean(p.name), err)
		}
		p.text = string(read)
	}
	switch {
	case !utf8.ValidString(p.name) || !utf8.ValidString(p.text):
		return p, exit.Usagef("--param %s: the value is not UTF-8", cli.Clean(p.name))
	case p.json && !json.Valid([]byte(p.text)):
		return p, exit.Usagef("--param %s: expected JSON after :=, with a text in quotes", cli.Clean(p.name))
	}
	return p, nil
}

// parameters are what a session is started with.
type parameters struct {
	members map[string]json.RawMessage
	schema  *valueTypes
}

// addParameter takes params of one name. Several are the items of a list.
func (p *parameters) addParameter(name string, given []Parameter) error {
	types := p.schema.ofProperty(name)
	if len(given) == 1 {
		p.members[name] = types.encode(given[0])
		return nil
	}
	if !types.allows("array") {
		return exit.Usagef("--param %s is given %d times, and is no list", cli.Clean(name), len(given))
	}
	items := make([]json.RawMessage, len(given))
	for i, one := range given {
		items[i] = types.ofItems().encodeScalar(one)
	}
	p.members[name] = cli.JoinJSON(items)
	return nil
}

// ReadParameters reads the JSON object of --params.
func ReadParameters(a *cli.App, name string) (json.RawMessage, error) {
	text, err := a.ReadBounded(name)
	if err != nil {
		return nil, exit.Usage(fmt.Errorf("--params: %w", err))
	}
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\xef\xbb\xbf")))
	var object map[string]json.RawMessage
	switch err := json.Unmarshal(text, &object); {
	case !utf8.Valid(text):
		return nil, exit.Usagef("--params %s: the text is not UTF-8", cli.Clean(name))
	case err != nil:
		return nil, exit.Usagef("--params %s: expected one JSON object: %w", cli.Clean(name), err)
	case object == nil:
		return nil, exit.Usagef("--params %s: expected one JSON object, not null", cli.Clean(name))
	}
	return text, nil
}

// AssembleParameters merges --params and --param. A value of --param wins. Without --param it
// returns the text of the file unchanged.
func AssembleParameters(file json.RawMessage, given []Parameter, schema json.RawMessage) (json.RawMessage, error) {
	if len(given) == 0 {
		return file, nil
	}
	p := &parameters{members: map[string]json.RawMessage{}, schema: readTypes(schema)}
	if len(file) > 0 {
		if err := json.Unmarshal(file, &p.members); err != nil {
			return nil, err
		}
	}
	byName := map[string][]Parameter{}
	var names []string
	for _, one := range given {
		if byName[one.name] == nil {
			names = append(names, one.name)
		}
		byName[one.name] = append(byName[one.name], one)
	}
	for _, name := range names {
		if err := p.addParameter(name, byName[name]); err != nil {
			return nil, err
		}
	}
	return cli.EncodeJSON(p.members)
}
