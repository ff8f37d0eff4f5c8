package config_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/parleyhub/parley/cmd/parley/internal/config"
	"github.com/parleyhub/parley/internal/schematest"
)

// FuzzLoad checks that any file is a configuration, or has faults with places. The schema accepts
// what Load accepts.
func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{"good", "faults"} {
		names, err := filepath.Glob(filepath.Join("testdata", pattern, "*.yaml"))
		if err != nil {
			f.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	schema := schematest.Compile(f, config.Schema())
	file := filepath.Join(f.TempDir(), "parley.yaml")
	f.Fuzz(func(t *testing.T, text []byte) {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		l, err := config.Load(config.Sources{File: file})
		if err == nil {
			_ = l.Check(false) // must not panic
			_ = l.Check(true)
			l.Warnings()
			if err := schematest.Validate(schema, text); err != nil {
				t.Errorf("taken, and the Schema says %v", err)
			}
			return
		}
		var faults config.Faults
		if !errors.As(err, &faults) || len(faults) == 0 {
			t.Fatalf("%T %v", err, err)
		}
		lines := bytes.Count(text, []byte("\n")) + 2 // YAML has other line ends, and a fault may be at the end
		for _, fault := range faults {
			if fault.Line < 1 || fault.Column < 1 || fault.Line > lines+bytes.Count(text, []byte("\r"))+3*bytes.Count(text,
				[]byte("\xe2\x80"))+bytes.Count(text, []byte("\xc2\x85")) {
				t.Errorf("%s is outside of a file of %d lines", fault, lines)
			}
		}
	})
}
