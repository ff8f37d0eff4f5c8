package scenario_test

import (
	"bytes"
	"errors"
	"os"
	"testing"

	"github.com/parleyhub/parley/cmd/parley/internal/scenario"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/internal/schematest"
	"github.com/parleyhub/parley/internal/yamlfile"
)

// FuzzParse checks that any text is either a scenario, or has faults with valid positions. The
// Schema and a hub accept each scenario that Parse accepts.
func FuzzParse(f *testing.F) {
	for _, dir := range []string{"good", "faults"} {
		for _, name := range files(f, "testdata", dir) {
			text, err := os.ReadFile(name)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text)
		}
	}
	schema := schematest.Compile(f, scenario.Schema())
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := scenario.Parse("s.yaml", text)
		if err == nil {
			if err := schematest.Validate(schema, text); err != nil {
				t.Errorf("taken, and the Schema says %v", err)
			}
			if err := check.Create(s.Params()); err != nil {
				t.Errorf("taken, and a hub says %v", err)
			}
			return
		}
		var faults yamlfile.Findings
		if !errors.As(err, &faults) || len(faults) == 0 {
			t.Fatalf("%T %v", err, err)
		}
		// YAML has additional line breaks, and one fault may be at the end
		lines := bytes.Count(text, []byte("\n")) + 2 + bytes.Count(text, []byte("\r")) + 3*bytes.Count(text,
			[]byte("\xe2\x80")) + bytes.Count(text, []byte("\xc2\x85"))
		for _, fault := range faults {
			if fault.Line < 1 || fault.Column < 1 || fault.Line > lines {
				t.Errorf("%s is outside of a file of %d lines", fault, lines)
			}
		}
	})
}
