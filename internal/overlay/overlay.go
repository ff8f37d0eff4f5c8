// Package overlay compiles the product with patches, without a change of its files. Package
// torture/plants has the patches, each of which is a bug that a test must find.
//
//	file, err := overlay.Write(dir, "no-sync") // then: go build -overlay FILE
package overlay

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Root returns the root directory of the repository. It asks the go command, because a binary that
// is built with -trimpath does not know the paths of its sources.
func Root() (string, error) {
	const module = "github.com/parleyhub/parley"
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("go list -m %s: %w", module, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Write applies the patches of these names, one after another, and writes what they change and a
// file for the flag -overlay of the go command into dir. It returns the path of that file. The
// files of the repository stay as they are.
func Write(dir string, names ...string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	var patches []*Patch
	for _, name := range names {
		p, err := Load(root, name)
		if err != nil {
			return "", err
		}
		patches = append(patches, p)
	}
	texts, err := Apply(root, patches...)
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for name, text := range texts {
		file := filepath.Join(dir, strconv.Itoa(len(replace))+"_"+filepath.Base(name))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(root, filepath.FromSlash(name))] = file
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, data, 0o600)
}

// Apply applies patches, one after another, to the files below root. It returns the new text of
// each file that they change.
func Apply(root string, patches ...*Patch) (map[string]string, error) {
	texts := map[string]string{}
	for _, p := range patches {
		for _, f := range p.files {
			text, isPatched := texts[f.path]
			if !isPatched {
				data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(f.path)))
				if err != nil {
					return nil, fmt.Errorf("patch %s: %w", p.Name, err)
				}
				text = string(data)
			}
			var err error
			if texts[f.path], err = f.apply(text); err != nil {
				return nil, fmt.Errorf("patch %s, %s: %w", p.Name, f.path, err)
			}
		}
	}
	return texts, nil
}
