package mcpinstall

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
)

// addToJSON adds a member to the object under a key of a JSON file, which it creates if it is
// missing. was describes what it replaced. Everything else in the file stays unchanged, except
// white space, and the file is complete at any moment. A copy of the old file stays beside it.
func addToJSON(file, key, name string, value any) (was replaced, err error) {
	if file, err = resolveLinks(file); err != nil {
		return was, err
	}
	old, err := readConfigFile(file)
	if err != nil {
		return was, err
	}
	text, there, err := addMember(file, old.text, key, name, value)
	if err != nil {
		return was, err
	}
	was = replaced{entry: there}
	if was.backup, err = old.backUp(); err != nil {
		return was, err
	}
	return was, old.replace(text)
}

// replaced says what was there before.
type replaced struct {
	entry  bool   // the member was
	backup string // the copy of the old file; empty if there was no file
}

// addMember returns the text of a JSON file with one more member below a key.
func addMember(file string, old []byte, key, name string, value any) (text []byte, there bool, err error) {
	all, err := readMembers(old)
	if err != nil {
		return nil, false,
			exit.WithHint(exit.Usagef("%s is not plain JSON: %v", file, err),
				"without --write the entry is printed, to be added by hand")
	}
	if twice := duplicateKey(old); twice != "" {
		return nil, false,
			exit.WithHint(exit.Usagef("%s has the key %s twice", file, twice),
				"which of the two counts is for its owner to say: take one out")
	}
	servers, err := readMembers(all.get(key))
	if err != nil {
		return nil, false, exit.Usagef("%s: %q is no object", file, key)
	}
	if there, err = servers.set(name, value); err != nil {
		return nil, false, err
	}
	if _, err = all.set(key, servers); err != nil {
		return nil, false, err
	}
	text, err = encodeJSON(all, indentOf(old))
	return text, there, err
}

// duplicateKey returns the path of the first duplicate key of a text, or "".
func duplicateKey(text []byte) string {
	_, err := jsontext.NewDecoder(bytes.NewReader(text), jsontext.AllowInvalidUTF8(true)).ReadValue()
	var wrong *jsontext.SyntacticError
	if !errors.Is(err, jsontext.ErrDuplicateName) || !errors.As(err, &wrong) {
		return ""
	}
	return cli.Clean(string(wrong.JSONPointer))
}

// resolveLinks follows the links to a file. A link to nothing is refused: it is not for this
// program to end it.
func resolveLinks(file string) (string, error) {
	real, err := filepath.EvalSymlinks(file)
	if err == nil {
		return real, nil
	}
	const hint = "mend or remove it; without --write the entry is printed, to be added by hand"
	if !errors.Is(err, fs.ErrNotExist) {
		return "", exit.WithHint(exit.Usagef("the links of %s cannot be followed: %v", file, err), hint)
	}
	for at := file; ; at = filepath.Dir(at) {
		if _, isThere := os.Stat(at); isThere == nil {
			return file, nil
		}
		if _, isThere := os.Lstat(at); isThere == nil {
			return "", exit.WithHint(exit.Usagef("%s is a link to a file that is not there", at), hint)
		}
		if at == filepath.Dir(at) {
			return file, nil
		}
	}
}

// members are those of a JSON object, in the order of the text.
type members []member

type member struct {
	name  string
	value json.RawMessage
}

// readMembers reads an object; one that is empty, null or not there has none.
func readMembers(text []byte) (*members, error) {
	m := &members{}
	if len(bytes.TrimSpace(text)) == 0 {
		return m, nil
	}
	if err := json.Unmarshal(text, &map[string]json.RawMessage{}); err != nil { // null is an object for it
		return nil, err // checks the whole text, so the decoder below cannot fail
	}
	d := json.NewDecoder(bytes.NewReader(text))
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		one := member{name: name.(string)}
		if err := d.Decode(&one.value); err != nil {
			return nil, err
		}
		*m = append(*m, one)
	}
	return m, nil
}

// get returns the value of a member, or nil.
func (m *members) get(name string) json.RawMessage {
	var value json.RawMessage
	for _, one := range *m {
		if one.name == name {
			value = one.value
		}
	}
	return value
}

// set adds a member, or replaces its value.
func (m *members) set(name string, value any) (replaced bool, err error) {
	raw, err := encodeJSON(value, "")
	if err != nil {
		return false, err
	}
	for i := range *m {
		if (*m)[i].name == name {
			(*m)[i].value, replaced = raw, true
		}
	}
	if !replaced {
		*m = append(*m, member{name, raw})
	}
	return replaced, nil
}

// MarshalJSON writes the members in their order.
func (m *members) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	for i, one := range *m {
		name, err := encodeJSON(one.name, "")
		if err != nil {
			return nil, err
		}
		b.WriteString(map[bool]string{true: "{", false: ","}[i == 0])
		fmt.Fprintf(&b, "%s:%s", name, one.value)
	}
	if len(*m) == 0 {
		b.WriteByte('{')
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// encodeJSON writes a value for people: < and > stay as they are.
func encodeJSON(value any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	err := e.Encode(value)
	return b.Bytes(), err
}

// indentOf is the white space with which a text of JSON begins its second line.
func indentOf(text []byte) string {
	_, rest, found := strings.Cut(string(text), "\n")
	indent := rest[:len(rest)-len(strings.TrimLeft(rest, " \t"))]
	if !found || indent == "" {
		return "  "
	}
	return indent
}
