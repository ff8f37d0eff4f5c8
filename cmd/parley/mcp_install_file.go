package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxHostConfig bounds a configuration file that is read.
const maxHostConfig = 16 << 20

// addToJSON adds a member to the object under a key of a JSON file, which is made if it is not there; replaced says that the member was there. Everything else
// in the file stays as it is, but for white space, and the file is there whole at any moment.
func addToJSON(file, key, name string, value any) (replaced bool, err error) {
	if file, err = linked(file); err != nil {
		return false, err
	}
	old, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, err
	}
	if len(old) > maxHostConfig {
		return false, usagef("%s has more than %d bytes", file, maxHostConfig)
	}
	all, err := readMembers(old)
	if err != nil {
		return false, withHint(usagef("%s is not plain JSON: %v", file, err), "without --write the entry is printed, to be added by hand")
	}
	servers, err := readMembers(all.get(key))
	if err != nil {
		return false, usagef("%s: %q is no object", file, key)
	}
	if replaced, err = servers.set(name, value); err != nil {
		return false, err
	}
	if _, err = all.set(key, servers); err != nil {
		return false, err
	}
	text, err := encodeJSON(all, indentOf(old))
	if err != nil {
		return false, err
	}
	return replaced, replaceFile(file, text)
}

// linked follows the links to a file. A link to nothing is refused: it is not for this program to end it.
func linked(file string) (string, error) {
	real, err := filepath.EvalSymlinks(file)
	if err == nil {
		return real, nil
	}
	if _, isThere := os.Lstat(file); isThere == nil {
		return "", usagef("%s is a link to a file that is not there", file)
	}
	return file, nil
}

// members are those of a JSON object, in the order in which they stand.
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
		return nil, err // of the whole: what is read below is right
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

// get gives the value of a member; nil if there is none. Of two with one name the last counts.
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

// replaceFile puts a file that only its owner may read in the place of another.
func replaceFile(file string, data []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), ".parley-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	_, err = f.Write(data)
	if err = cmp.Or(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return os.Rename(f.Name(), file)
}
