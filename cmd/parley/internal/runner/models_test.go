package runner

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
	"github.com/parleyhub/parley/executors/blueprint"
)

var backquoted = regexp.MustCompile("`([a-z_.]+)`")

// TestDocsOfLLM: the table of docs/reference/blueprint.md has all fields and names existing tests, and
// the example of docs/guides/llm.md is an LLM agent.
func TestDocsOfLLM(t *testing.T) {
	t.Parallel()
	text := clitest.Document(t, "docs", "guides", "llm.md")
	_, table, _ := strings.Cut(clitest.Document(t, "docs", "reference", "blueprint.md"),
		"| field | default | what it does, and what enforces it | test |\n|---|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var tests strings.Builder
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "executors", "llm", "agent", "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		tests.WriteString(clitest.Document(t, "executors", "llm", "agent", filepath.Base(f)))
	}
	var told []string
	for row := range strings.SplitSeq(table, "\n") {
		cells := strings.Split(row, " | ")
		for _, m := range backquoted.FindAllStringSubmatch(cells[0], -1) {
			told = append(told, m[1])
		}
		name := strings.Trim(cells[len(cells)-1], "`| ")
		if !strings.Contains(tests.String(), "func "+name+"(") {
			t.Errorf("%s: there is no test %s", cells[0], name)
		}
	}
	fields := slices.DeleteFunc(fieldsOf(t, blueprint.Schema(), ""), func(f string) bool {
		return slices.Contains([]string{"type", "name", "description", "parameters_schema", "labels", "command", "argv",
			"params_via", "env", "cwd", "max_output_bytes", "idempotent",
			"agent_id", "subscriptions", "steps", "output",
			"mcp_servers.mcpServers"}, f) // the wrapper of an mcp.json file is not a field of an agent
	})
	slices.Sort(told)
	slices.Sort(fields)
	if diff := cmp.Diff(fields, told); diff != "" {
		t.Errorf("the table: %s", diff)
	}

	_, example, _ := strings.Cut(text, "```yaml\n")
	example, _, _ = strings.Cut(example, "```")
	if f, faults := blueprint.Parse(filepath.Join(t.TempDir(), "refund.yaml"), []byte(example)); f == nil || !f.IsAgent() {
		t.Errorf("the example: %v", faults)
	}
}

// fieldsOf are the members of a schema, and of those of its members that say theirs, by their paths.
func fieldsOf(t *testing.T, raw json.RawMessage, path string) []string {
	t.Helper()
	var schema struct{ Properties map[string]json.RawMessage }
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	var all []string
	for name, below := range schema.Properties {
		all = append(all, path+name)
		all = append(all, fieldsOf(t, below, path+name+".")...)
	}
	return all
}
