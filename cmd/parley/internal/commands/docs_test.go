package commands

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
)

var (
	fenced   = regexp.MustCompile("(?s)```sh\n(.*?)```")
	quoted   = regexp.MustCompile("`(parley [^`]+)`")
	assigned = regexp.MustCompile(`^([A-Z_]+=\S+ +)+`)
	deployed = regexp.MustCompile(
		`(?m)^ExecStart=\S*/(parley .*)$|podman run .* (parley [a-z].*)$|^(?:HEALTHCHECK .*)?CMD \[(.*)\]$`)
)

// TestDocsQuoteRealCommands checks that the flags and arguments of every command line of the documents and the hints
// exist.
func TestDocsQuoteRealCommands(t *testing.T) {
	t.Parallel()
	var lines []string
	for file, least := range map[string]int{
		"README.md": 8, "docs/guides/operations.md": 15, "docs/guides/several-hubs.md": 6, "docs/reference/configuration.md": 3, "docs/guides/clients.md": 5,
		"docs/guides/programs.md": 1, "examples/agents/README.md": 4, "docs/reference/metrics.md": 2, "docs/guides/telemetry.md": 3,
		"docs/guides/executors.md": 4, "docs/guides/scenarios.md": 4, "docs/guides/blueprints.md": 12, "docs/guides/llm.md": 8, "docs/guides/mcp.md": 8,
		"docs/guides/triggers.md": 3, "docs/guides/workflows.md": 1,
	} {
		found := commandLines(t, filepath.Join("..", "..", "..", "..", filepath.FromSlash(file)))
		if len(found) < least {
			t.Errorf("only %d command lines found in %s: %q", len(found), file, found)
		}
		lines = append(lines, found...)
	}
	lines = append(lines, deployedLines(t)...)
	for _, hint := range exit.Hints {
		for _, m := range regexp.MustCompile(`'(parley [^']+)'`).FindAllStringSubmatch(hint, -1) {
			lines = append(lines, m[1])
		}
	}
	for _, line := range lines {
		if err := understood(line); err != nil {
			t.Errorf("%s: %v", line, err)
		}
	}
	if err := understood("parley tail -f --nonsense"); err == nil {
		t.Error("an unknown flag was understood")
	}
	if err := understood("parley conversation forget"); err == nil {
		t.Error("an unknown command was understood")
	}
}

// commandLines returns the lines of code blocks that run parley, and the quoted ones. Of "parley a,
// b" it returns the first.
func commandLines(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, block := range fenced.FindAllSubmatch(text, -1) {
		for l := range strings.Lines(string(block[1])) {
			l, _, _ = strings.Cut(l, "#")
			l = assigned.ReplaceAllString(strings.TrimSpace(l), "")
			if l = strings.TrimPrefix(l, "bin/"); strings.HasPrefix(l, "parley ") {
				lines = append(lines, l)
			}
		}
	}
	for _, m := range quoted.FindAllSubmatch(text, -1) {
		l, _, _ := strings.Cut(string(m[1]), ",")
		lines = append(lines, l)
	}
	return lines
}

// deployedLines returns the commands of docs/deploy that a unit or a container runs.
func deployedLines(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "docs", "deploy", "*"))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range deployed.FindAllStringSubmatch(string(text), -1) {
			line := m[1] + m[2]
			if m[3] != "" { // a list of JSON strings, of which the program may be left to the entry point
				line = "parley " + strings.TrimPrefix(strings.NewReplacer(`"`, "", ",", "").Replace(m[3]), "/parley ")
			}
			lines = append(lines, line)
		}
	}
	for _, want := range []string{
		"parley serve --config /etc/parley/parley.yaml", "parley token create --admin --data /data",
		"parley ready --timeout 2s", "parley serve",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("docs/deploy no longer says %q, or the test does not find it: %q", want, lines)
		}
	}
	return lines
}

// understood says whether the command and its flags exist. It runs nothing.
func understood(line string) error {
	args := strings.Fields(line)[1:]
	for i := range args {
		if args[i] == "N" { // a placeholder for a number
			args[i] = "1"
		}
	}
	var sink bytes.Buffer
	_, root := cli.NewProgram(cli.Streams{In: &sink, Out: &sink, Err: &sink}, addCommands)
	root.InitDefaultHelpCmd()
	c, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	unsaid := new(pflag.ValueRequiredError)
	// a flag that is named without its value is there
	if err := c.ParseFlags(rest); errors.Is(err, pflag.ErrHelp) || errors.As(err, &unsaid) {
		return nil
	} else if err != nil {
		return err
	}
	if c.HasSubCommands() && c.Name() != "help" { // a group takes no arguments
		return c.ValidateArgs(c.Flags().Args())
	}
	return nil
}
