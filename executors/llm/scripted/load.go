package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/parleyhub/parley/internal/shape"
	"github.com/parleyhub/parley/internal/toolnames"
	"github.com/parleyhub/parley/internal/yamlfile"
)

var suffixes = []string{".json", ".yaml", ".yml"}

const expectedScript = "expected a script, such as {turns: [{text: Good day.}]}"

// script is one model.
type script struct {
	name  string
	file  string
	turns []*turn
}

// load reads the scripts in a directory, in the order of their names. It skips subdirectories and
// hidden files. shown is the directory in findings.
func load(dir fs.FS, shown string) (map[string]*script, error) {
	entries, err := fs.ReadDir(dir, ".")
	if err != nil {
		return nil, fmt.Errorf("expected a directory of scripts: %s: %s", shown, reason(err))
	}
	all := map[string]*script{}
	var wrong yamlfile.Findings
	for _, e := range entries {
		suffix := strings.ToLower(path.Ext(e.Name()))
		if strings.HasPrefix(e.Name(), ".") || e.IsDir() || !slices.Contains(suffixes, suffix) {
			continue
		}
		s, faults := read(dir, e.Name(), path.Join(shown, e.Name()))
		if first := all[s.name]; first != nil {
			faults = append(faults,
				yamlfile.Finding{File: s.file, Line: 1, Column: 1, What: "expected another name: " + first.file +
					" already has it"})
		}
		wrong = append(wrong, faults...)
		all[s.name] = s
	}
	if len(wrong) > 0 {
		return nil, wrong
	}
	return all, nil
}

func read(dir fs.FS, name, shown string) (*script, yamlfile.Findings) {
	s := &script{name: strings.TrimSuffix(name, path.Ext(name)), file: shown}
	whole := func(what string) yamlfile.Findings {
		return yamlfile.Findings{{File: shown, Line: 1, Column: 1, What: what}}
	}
	if !toolnames.ValidModel(Name + ":" + s.name) {
		return s, whole("expected a file name without colons and white space, because it is the name of the model")
	}
	info, err := fs.Stat(dir, name)
	if err == nil && !info.Mode().IsRegular() {
		return s, whole("expected a regular file")
	}
	var text []byte
	if err == nil {
		text, err = readFile(dir, name)
	}
	if err != nil {
		return s, whole("the file cannot be read: " + reason(err))
	}
	var faults yamlfile.Findings
	s.turns, faults = parse(shown, text)
	return s, faults
}

func readFile(dir fs.FS, name string) ([]byte, error) {
	f, err := dir.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return yamlfile.ReadFrom(f)
}

// parse reads a script: JSON if the file name ends in .json, otherwise YAML. It returns either the
// turns or all findings, in the order of the text.
func parse(file string, text []byte) ([]*turn, yamlfile.Findings) {
	c := &checker{Reader: shape.Reader{File: file, Expected: expectedScript}}
	parse := yamlfile.Parse
	if strings.EqualFold(path.Ext(file), ".json") {
		parse = yamlfile.ParseJSON
	}
	n, faults := parse(text)
	taken := c.Read(table, n, faults)
	if taken != nil {
		if err := json.Unmarshal(taken, &c.content); err != nil {
			panic(fmt.Sprintf("the table of scripts does not match its type: %v", err)) // a test compares both
		}
		c.check()
	}
	if len(c.Findings) > 0 {
		c.Findings.Sort()
		return nil, c.Findings
	}
	return c.content.Turns, nil
}

// reason returns an error of the file system without the path, which the message already has.
func reason(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}
