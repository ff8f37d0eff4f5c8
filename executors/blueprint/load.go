package blueprint

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/toolnames"
	"github.com/parleyhub/parley/internal/yamlfile"
)

var suffixes = []string{".json", ".yaml", ".yml"}

// Load reads the .json, .yaml and .yml files of a directory in the order of their names. It skips
// subdirectories and hidden files. Files with faults are left out, and of two files with the same
// name the second. The Set is never nil.
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

// add adds a file to the set.
func (s *Set) add(f *File) []Fault {
	first := s.File(f.Name)
	children := s.child(f.Name)
	if children == nil && f.IsAgent() && f.Config.Spawns() {
		children = s.File(f.Name + toolnames.ChildSuffix)
	}
	switch {
	case first == nil && children != nil:
		return []Fault{f.Fault("name", "expected another name: "+clash(f, children))}
	case first != nil:
		return []Fault{f.Fault("name", fmt.Sprintf("expected another name: %s has it already", first.Path))}
	case len(s.Files) == limits.MaxBlueprints:
		return []Fault{
			{Path: f.Path, What: fmt.Sprintf("expected at most %d blueprints in a directory", limits.MaxBlueprints)}}
	}
	s.Files = append(s.Files, f)
	return nil
}

// clash describes two files of which one has the name of the other's children.
func clash(f, other *File) string {
	if len(f.Name) > len(other.Name) {
		return "the children of " + other.Path + " have this name"
	}
	return "its children would have the name of " + other.Path
}

// read reads a regular file. It refuses pipes and devices, which may block.
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
		return nil, []Fault{{Path: path, What: "the file cannot be read: " + reason(err)}}
	}
	return Parse(path, text)
}

// reason returns an error of the file system without the path, which the fault already has.
func reason(err error) string {
	var at *fs.PathError
	if errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}
