package blueprint_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parleyhub/parley/executors/blueprint"
)

// Keys without an effect, and what this machine lacks for the MCP servers, are warnings.
func TestServerWarnings(t *testing.T) {
	t.Setenv("THERE", "x")
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "a.yaml")
	for _, row := range [][2]string{
		{`command: ` + self, ""},
		{`command: ` + self + `, args: ["${THERE}", "${NOT_THERE:-x}", $NOT_THERE]`, ""},
		{`command: ` + self + `, cwd: ., env: {A: "${env:NOT_THERE}"}`,
			"mcp_servers.s.env.A: the variable NOT_THERE is not set"},
		{`url: "https://a/${NOT_THERE}"`, "mcp_servers.s.url: the variable NOT_THERE is not set"},
		{`url: "https://a", headers: {A: "${NOT_THERE}"}`,
			"mcp_servers.s.headers.A: the variable NOT_THERE is not set"},
		{`command: no-such-program`,
			"mcp_servers.s.command: the program no-such-program cannot be run: not found in PATH"},
		{`command: ./no-such-program, cwd: "${NOT_THERE:-.}"`,
			"mcp_servers.s.command: the program ./no-such-program cannot be run"},
		{`command: ` + self + `, cwd: missing`,
			"mcp_servers.s.cwd: there is no directory " + filepath.Join(dir, "missing")},
		{`command: ` + self + `, env_file: missing`,
			"mcp_servers.s.env_file: the file missing cannot be read"},
		{`command: ` + self + `, timeout: 60`, "ignored: it differs between products; use start_timeout"},
		{`command: ` + self + `, autoApprove: [a]`, "use hitl_tools"},
		{`command: ` + self + `, alwaysAllow: [a]`, "use hitl_tools"},
		{`command: no-such-program, disabled: true`, ""},
		{`command: no-such-program, args: ["${A1}"], enabled: false`, ""},
	} {
		entry, want := row[0], row[1]

		f, faults := blueprint.Parse(path, []byte("type: agent\nname: a\nmodel: o:x\nmcp_servers:\n  s: {"+entry+"}\n"))
		if f == nil {
			t.Errorf("%s: %v", entry, faults)
			continue
		}
		switch {
		case want == "" && len(f.Warnings) > 0:
			t.Errorf("%s: unexpected warnings %v", entry, f.Warnings)
		case want == "":
		case len(f.Warnings) != 1 || !strings.Contains(f.Warnings[0].String(), want) || f.Warnings[0].Line != 5:
			t.Errorf("%s: the warnings are %v, expected one with %s", entry, f.Warnings, want)
		}
	}
}
