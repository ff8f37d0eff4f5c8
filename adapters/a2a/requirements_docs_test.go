package a2a

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var updateDocs = flag.Bool("update", false, "write the documents anew")

// TestRequirementsAreTold: docs/a2a-requirements.md lists what is held, each with its test.
func TestRequirementsAreTold(t *testing.T) {
	var rows []string
	for _, r := range frontRequirements {
		rows = append(rows, fmt.Sprintf("| %s | %s | %s | TestFrontRequirements |\n", r.id, r.level, r.what))
	}
	for _, r := range opsRequirements {
		rows = append(rows, fmt.Sprintf("| %s | %s | %s | TestOperationRequirements |\n", r.id, r.level, r.what))
	}
	slices.Sort(rows)
	want := `# The requirements of A2A 1.0 that are tested

By the names that the conformance kit of A2A (branch 1.0-dev) has for them, or, where it has none, by the section of the specification. Each is a test of package adapters/a2a with its id as a name:

    go test ./adapters/a2a -run 'Requirements' -v

Left out are those of gRPC, of signed cards and of clients: there is no gRPC here, and no card is signed. The scenarios of the kit are played by TestScenarios.

| id | level | what | test |
|---|---|---|---|
` + strings.Join(rows, "")
	path := filepath.Join("..", "..", "docs", "a2a-requirements.md")
	if *updateDocs {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != want {
		t.Error("docs/a2a-requirements.md is not what is tested: go test ./adapters/a2a -run RequirementsAreTold -update")
	}
}
