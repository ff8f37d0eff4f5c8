package commands

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/internal/golden"
)

var (
	fenced   = regexp.MustCompile("(?s)```sh(?: norun)?\n(.*?)```")
	quoted   = regexp.MustCompile("`(parley [^`]+)`")
	assigned = regexp.MustCompile(`^([A-Z_]+=\S+ +)+`)
	deployed = regexp.MustCompile(
		`(?m)^ExecStart=\S*/(parley .*)$|podman run .* (parley [a-z].*)$|^(?:HEALTHCHECK .*)?CMD \[(.*)\]$`)
)

// TestDocsQuoteRealCommands checks that the flags and arguments of every command line of the documents and the hints
// exist.
func TestDocsQuoteRealCommands(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "..", "..")
	lines := commandLines(t, filepath.Join(root, "README.md"))
	for _, dir := range []string{"docs", "examples"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, _ fs.DirEntry, err error) error {
			if err == nil && filepath.Ext(path) == ".md" {
				lines = append(lines, commandLines(t, path)...)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d command lines", len(lines))
	if len(lines) < 200 {
		t.Errorf("only %d command lines found in the documents", len(lines))
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

// TestCommandReference compares docs/reference/commands.md with the help of all commands.
func TestCommandReference(t *testing.T) {
	t.Parallel()
	var sink bytes.Buffer
	_, root := cli.NewProgram(cli.Streams{In: &sink, Out: &sink, Err: &sink}, addCommands)
	var page strings.Builder
	page.WriteString("# Commands\n\nThis page has the help of every command. It is generated from the program:\n" +
		"`go test ./cmd/parley/internal/commands -run CommandReference -update`.\n")
	writeCommands(&page, root)
	golden.Compare(t, filepath.Join("..", "..", "..", "..", "docs", "reference", "commands.md"), page.String())
}

// writeCommands writes a section for a command and for those below it.
func writeCommands(page *strings.Builder, c *cobra.Command) {
	var help bytes.Buffer
	c.SetOut(&help)
	_ = c.Help()
	text, _, _ := strings.Cut(help.String(), "\nGlobal Flags:")
	var lines []string
	for l := range strings.Lines(text) {
		lines = append(lines, strings.TrimRight(l, " \n"))
	}
	fmt.Fprintf(page, "\n## %s\n\n```text\n%s\n```\n", c.CommandPath(), strings.TrimSpace(strings.Join(lines, "\n")))
	for _, below := range c.Commands() {
		if !below.Hidden && below.Name() != "help" && (below.Name() != "completion") {
			writeCommands(page, below)
		}
	}
}
