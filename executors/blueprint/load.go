package blueprint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/yamlfile"
)

var suffixes = []string{".json", ".yaml", ".yml"}

// Load reads every .json, .yaml and .yml file of a directory, in the order of their names; not what is below it, and not hidden ones. A file that has faults is
// left out, and of two with one name the second; the others are there. The Set is never nil.
func Load(dir string) (*Set, []Fault) {
	s := &Set{}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return s, []Fault{{Path: dir, What: "expected a directory of blueprints: " + reason(err)}}
	}
	var faults []Fault
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") || e.IsDir() ||
			!slices.Contains(suffixes, strings.ToLower(filepath.Ext(e.Name()))) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		f, wrong := read(path)
		if f != nil {
			wrong = s.add(f)
		}
		faults = append(faults, wrong...)
	}
	return s, faults
}

// add puts a file into the set.
func (s *Set) add(f *File) []Fault {
	first := s.File(f.Name)
	children := s.child(f.Name)
	if children == nil && f.IsAgent() && f.Config.Spawns() {
		children = s.File(f.Name + parley.ChildSuffix)
	}
	switch {
	case first == nil && children != nil:
		return []Fault{f.Fault("name", "expected another name: "+clash(f, children))}
	case first != nil:
		return []Fault{f.Fault("name", fmt.Sprintf("expected another name: %s has it already", first.Path))}
	case len(s.Files) == parley.MaxBlueprints:
		return []Fault{
			{Path: f.Path, What: fmt.Sprintf("expected at most %d blueprints in a directory", parley.MaxBlueprints)}}
	}
	s.Files = append(s.Files, f)
	return nil
}

// clash says how two files are named of which one is named as the children of the other are.
func clash(f, other *File) string {
	if len(f.Name) > len(other.Name) {
		return "the children of " + other.Path + " have it"
	}
	return "its children would have that of " + other.Path
}

// read reads a file, if it is a regular one: no pipe that never ends, no device.
func read(path string) (*File, []Fault) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, []Fault{{Path: path, What: "expected a regular file"}}
	}
	var text []byte
	if err == nil {
		text, err = yamlfile.Read(path)
	}
	if err != nil {
		return nil, []Fault{{Path: path, What: "it cannot be read: " + reason(err)}}
	}
	return Parse(path, text)
}

// reason is an error of the system without the path, which is told beside it.
func reason(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}
