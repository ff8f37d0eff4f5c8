package blueprint

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/process"
	"github.com/parleyhub/parley/internal/arguments"
	"github.com/parleyhub/parley/internal/paramschema"
	"github.com/parleyhub/parley/internal/shape"
	"github.com/parleyhub/parley/internal/yamlfile"
)

// MaxFileBytes bounds a file.
const MaxFileBytes = yamlfile.MaxBytes

const expectedBlueprint = `expected a blueprint, such as {"name": "hello", "argv": ["echo"], "parameters_schema": ` +
	`{"type": "object"}}`

// errTable is what a table that does not fit its type is: a test holds them together.
const errTable = "the table of blueprints does not fit its type: %v"

// Parse reads the text of a blueprint: JSON, with comments, where path ends in .json, else YAML. Its directory is where a command is looked for. There is a File, or there are
// faults: all of them, in the order of the text.
func Parse(path string, text []byte) (*File, []Fault) {
	c := &checker{Reader: shape.Reader{File: path, Expected: expectedBlueprint}}
	parse := yamlfile.Parse
	if strings.EqualFold(filepath.Ext(path), ".json") {
		parse, text = yamlfile.ParseJSON, withoutComments(text)
	}
	n, faults := parse(text)
	var members []yamlfile.Member
	if n != nil && yamlfile.IsMapping(n) {
		members = yamlfile.Members(n)
	}
	shape, check := c.kind(members)
	taken := c.Read(shape, n, faults)
	if c.untyped(members) { // of which kind it is to be nobody knows: more would mislead
		taken, c.Findings = nil, slices.DeleteFunc(c.Findings, func(f yamlfile.Finding) bool { return f.Field != "type" })
	}
	if taken != nil {
		if err := json.Unmarshal(taken, &c.content); err != nil {
			panic(fmt.Sprintf(errTable, err))
		}
		c.taken = taken
		c.check()
		check()
	}
	if len(c.Findings) > 0 {
		c.Findings.Sort()
		return nil, faultsOf(c.Findings)
	}
	return c.file, nil
}

func faultsOf(findings yamlfile.Findings) []Fault {
	faults := make([]Fault, len(findings))
	for i, f := range findings {
		faults[i] = Fault{Path: f.File, Line: f.Line, Column: f.Column, Field: f.Field, What: f.What}
	}
	return faults
}

// checker makes a File of what a text says.
type checker struct {
	shape.Reader
	content content
	taken   json.RawMessage  // all that could be read
	of      parley.AgentType // the kind of the file
	file    *File
}

func (c *checker) fault(path, format string, args ...any) { c.At(path, fmt.Sprintf(format, args...)) }

// check holds what all blueprints have against the rules that the table cannot tell. Of a part that could not be read nothing more is said.
func (c *checker) check() {
	t := &c.content
	c.file = &File{Path: c.File, Type: c.of, Name: cmp.Or(t.Name, t.AgentID), Description: t.Description, Labels: t.Labels}
	c.file.place = func(field string) Fault { return faultsOf(yamlfile.Findings{c.Finding(c.nearest(field), "")})[0] }
	c.name()
	c.timeout()
	c.labels()
	c.file.Parameters = c.schema("parameters_schema", t.ParametersSchema)
	c.file.Output = c.schema("output_schema", t.OutputSchema)
	c.subscriptions()
}

// name holds the two words for it against each other.
func (c *checker) name() {
	t := &c.content
	switch {
	case !c.Has("name") && !c.Has("agent_id"):
		c.fault("", "name is missing")
	case t.Name != "" && t.AgentID != "" && t.Name != t.AgentID:
		c.fault("agent_id", "expected what name says, or only one of them: both are the name of the agent")
	}
	for _, said := range []struct{ field, name string }{{"name", t.Name}, {"agent_id", t.AgentID}} {
		if said.name == parley.HubID {
			c.fault(said.field, "expected another name: hub is the hub itself")
		}
	}
}

// checkCommand is check for what only commands have.
func (c *checker) checkCommand() {
	t := &c.content
	c.file.Env, c.file.Idempotent = t.Env, t.Idempotent
	c.file.ParamsVia, c.file.MaxOutputBytes = cmp.Or(t.ParamsVia, parley.ParamsFlags), cmp.Or(t.MaxOutputBytes,
		DefaultOutputBytes)
	if t.Timeout == "" {
		c.file.Timeout = DefaultTimeout
	}
	c.env()
	c.directory()
	c.command()
	c.names()
}

func (c *checker) timeout() {
	if c.content.Timeout == "" {
		return
	}
	d, err := time.ParseDuration(c.content.Timeout)
	if err != nil || d < MinTimeout || d > MaxTimeout || d%time.Millisecond != 0 {
		c.fault("timeout", "expected a time from 100ms to 23h in whole milliseconds, such as 90s or 1h30m")
	}
	c.file.Timeout = d
}

// env refuses variables that are set for each run.
func (c *checker) env() {
	for i, v := range c.content.Env {
		path := fmt.Sprintf("env[%d]", i)
		name, _, _ := strings.Cut(v, "=")
		switch upper := strings.ToUpper(name); { // some systems do not tell them apart
		case strings.HasPrefix(upper, "PARLEY_"), strings.HasPrefix(upper, "PARAM_"), upper == traceparent:
			c.fault(path, "expected another name: PARLEY_..., PARAM_... and %s are set for each run", traceparent)
		case len(v) > MaxEnvBytes:
			c.fault(path, "expected at most %d bytes", MaxEnvBytes)
		}
	}
}

func (c *checker) labels() {
	for _, name := range slices.Sorted(maps.Keys(c.content.Labels)) {
		if name == "" || len(name) > parley.MaxLabelBytes || strings.ContainsFunc(name, isControl) {
			c.fault("labels."+yamlfile.Brief(name), "expected a name of 1 to %d bytes without control characters",
				parley.MaxLabelBytes)
		}
	}
}

func isControl(r rune) bool { return r == utf8.RuneError || unicode.IsControl(r) }

// directory finds where the command runs.
func (c *checker) directory() {
	dir := c.content.Cwd
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(c.File), dir)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		c.fault("cwd", "it cannot be told where this is: %v", err)
		return
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil && c.content.Cwd != "":
		c.fault("cwd", "expected a directory: there is none")
	case err == nil && !info.IsDir():
		c.fault("cwd", "expected a directory: it is something else")
	}
	c.file.Dir = dir
}

// shellSigns are what a shell would take for itself.
const shellSigns = "\"'\\$`|&;<>()"

// command finds the program.
func (c *checker) command() {
	t := &c.content
	given, path := c.Has("command"), "argv"
	switch {
	case given && c.Has("argv"):
		c.fault("argv", "expected either command or argv, and not both")
		return
	case given:
		path = "command"
		if strings.ContainsAny(t.Command, shellSigns) {
			c.fault(path, "expected none of %s: no shell reads it; give the words as argv, a list, where each is taken as it is",
				shellSigns)
			return
		}
		c.file.Argv = strings.Fields(t.Command)
	case c.Has("argv"):
		c.file.Argv = t.Argv
	default:
		if !c.Faulty("command") && !c.Faulty("argv") {
			c.fault("", "argv is missing: expected the program and its arguments as a list; or command, a text that is split "+
				"at white space")
		}
		return
	}
	if !c.Faulty(path) {
		c.program(path)
	}
}

func (c *checker) program(path string) {
	argv, total := c.file.Argv, 0
	for i, a := range argv {
		if total += len(a); strings.ContainsRune(a, 0) {
			c.fault(fmt.Sprintf("argv[%d]", i), "expected no NUL in it: an argument ends there")
			return
		}
	}
	switch {
	case len(argv) == 0 || argv[0] == "":
		c.fault(path, "expected a program: its name or path comes first")
		return
	case total > MaxArgvBytes || len(argv) > MaxArgv:
		c.fault(path, "expected at most %d words of %d bytes together", MaxArgv, MaxArgvBytes)
		return
	}
	program, err := process.Find(c.file.Dir, argv[0])
	if err != nil {
		c.fault(path, "expected a program that can be started, in PATH or as a path that begins at cwd: %s", whyNot(err))
		return
	}
	c.file.Program = program
}

// whyNot says why a program was not found, without its name.
func whyNot(err error) string {
	switch {
	case errors.Is(err, os.ErrPermission):
		return "it may not be executed"
	case errors.Is(err, os.ErrNotExist):
		return "there is no such file"
	}
	return "it is not in PATH"
}

// schema compiles a schema. What is wrong in it is told at its place there.
func (c *checker) schema(name string, text json.RawMessage) *paramschema.Schema {
	if len(text) == 0 {
		return nil
	}
	s, err := paramschema.Compile(text)
	if err == nil {
		return s
	}
	var refusal *parley.Error
	if !errors.As(err, &refusal) {
		c.fault(name, "%v", err)
		return nil
	}
	what := refusal.Message
	if refusal.Expected != "" {
		what += " (expected " + refusal.Expected + ")"
	}
	if where, rest, ok := strings.Cut(what, ": "); ok {
		if path := c.within(name, where); path != name {
			c.At(path, rest)
			return nil
		}
	}
	c.At(name, what)
	return nil
}

// item is how the place of a schema writes an item of a list.
var item = regexp.MustCompile(`\.([0-9]+)`)

// within gives the path of a place in a schema as it stands in the file, or the next one above it.
func (c *checker) within(name, where string) string {
	for path := name + "." + item.ReplaceAllString(where, "[$1]"); ; {
		at := strings.LastIndexAny(path, ".[")
		if c.Has(path) || at < len(name) {
			return path
		}
		path = path[:at]
	}
}

// names refuses parameters that the command could not be given.
func (c *checker) names() {
	if c.file.Parameters == nil {
		return
	}
	var refusal *parley.Error
	if err := arguments.CheckNames(c.file.ParamsVia, c.file.Parameters.Properties()); errors.As(err, &refusal) {
		c.fault("parameters_schema", "%s (expected %s)", refusal.Message, refusal.Expected)
	}
	if c.file.Subscriptions != nil && c.file.ParamsVia == parley.ParamsStdin &&
		slices.Contains(c.file.Parameters.Properties(), contextMember) {
		c.fault("parameters_schema",
			"expected another name than %s for a parameter: that member of stdin is what the subscriptions bring", contextMember)
	}
}
