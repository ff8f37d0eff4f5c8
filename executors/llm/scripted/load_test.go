package scripted_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/parleyhub/parley/executors/llm/scripted"
	"github.com/parleyhub/parley/internal/golden"
	"github.com/parleyhub/parley/internal/yamlfile"
)

// The schema for editors accepts the same files as the parser.
func TestSchema(t *testing.T) {
	golden.Compare(t, filepath.Join("..", "..", "..", "docs", "script.schema.json"), scripted.Schema())
}

// Every fault of every file is reported with its position and the expected value.
func TestFaults(t *testing.T) {
	_, err := scripted.New(&scripted.Options{Dir: "testdata/faults"})
	var all yamlfile.Findings
	if !errors.As(err, &all) {
		t.Fatalf("%v: expected findings", err)
	}
	golden.CompareLines(t, "testdata/faults.txt", all)
}

// Scripts are the files of one directory, by name.
func TestLoad(t *testing.T) {
	one := &fstest.MapFile{Data: []byte("turns: [{text: one}]")}
	p, err := scripted.New(&scripted.Options{FS: fstest.MapFS{
		"b.yaml": one, "a.yml": one, "c.d.JSON": {Data: []byte(`{"turns":[{"text":"one"}]}`)}, "notes.txt": one,
		".hidden.yaml": one, "below/e.yaml": one,
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(p.Models(), " "); got != "a b c.d" {
		t.Errorf("the models are %s", got)
	}
	_, err = scripted.New(&scripted.Options{Dir: filepath.Join(t.TempDir(), "none")})
	if err == nil || !strings.Contains(err.Error(), "expected a directory of scripts") {
		t.Errorf("a directory that is not there: %v", err)
	}
}
