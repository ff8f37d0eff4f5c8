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
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/paramschema"
	"github.com/parleyhub/parley/internal/shape"
	"github.com/parleyhub/parley/internal/yamlfile"
)

// MaxFileBytes limits a file.
const MaxFileBytes = yamlfile.MaxBytes

const expectedBlueprint = `expected a blueprint, such as {"name": "hello", "argv": ["echo"], "parameters_schema": ` +
	`{"type": "object"}}`

// errTable reports a table that does not match its type. A test compares both.
const errTable = "the table of blueprints does not match its type: %v"

// Parse parses a blueprint: JSON with comments if the path ends in .json, otherwise YAML. Commands
// are relative to the directory of the path. It returns either a File or all faults, in the order
// of the text.
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
	if c.untyped(members) { // the kind is unknown, so more faults would mislead
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

// checker builds a File from a text.
type checker struct {
	shape.Reader
	content content
	taken   json.RawMessage  // the members that could be read
	of      parley.AgentType // the type of the file
	file    *File
}

func (c *checker) fault(path, format string, args ...any) { c.At(path, fmt.Sprintf(format, args...)) }

// check checks the rules of all blueprints that the table cannot express. It ignores parts that
// could not be read.
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

// name checks the name, which has two keys.
func (c *checker) name() {
	t := &c.content
	switch {
	case !c.Has("name") && !c.Has("agent_id"):
		c.fault("", "name is missing")
	case t.Name != "" && t.AgentID != "" && t.Name != t.AgentID:
		c.fault("agent_id", "agent_id differs from name: both are the name of the agent")
	}
	for _, said := range []struct{ field, name string }{{"name", t.Name}, {"agent_id", t.AgentID}} {
		if said.name == parley.HubID {
			c.fault(said.field, "the name hub is reserved")
		}
	}
}

// checkCommand checks the rules of commands.
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
		switch upper := strings.ToUpper(name); { // names are not case-sensitive on all systems
		case strings.HasPrefix(upper, "PARLEY_"), strings.HasPrefix(upper, "PARAM_"), upper == traceparent:
			c.fault(path, "reserved name: PARLEY_..., PARAM_... and %s are set for each run", traceparent)
		case len(v) > MaxEnvBytes:
			c.fault(path, "expected at most %d bytes", MaxEnvBytes)
		}
	}
}

func (c *checker) labels() {
	for _, name := range slices.Sorted(maps.Keys(c.content.Labels)) {
		if name == "" || len(name) > limits.MaxLabelBytes || strings.ContainsFunc(name, isControl) {
			c.fault("labels."+yamlfile.Brief(name), "expected a name of 1 to %d bytes without control characters",
				limits.MaxLabelBytes)
		}
	}
}

func isControl(r rune) bool { return r == utf8.RuneError || unicode.IsControl(r) }

// directory determines the working directory.
func (c *checker) directory() {
	dir := c.content.Cwd
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(filepath.Dir(c.File), dir)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		c.fault("cwd", "the directory cannot be determined: %v", err)
		return
	}
	info, err := os.Stat(dir)
	switch {
	case err != nil && c.content.Cwd != "":
		c.fault("cwd", "the directory does not exist")
	case err == nil && !info.IsDir():
		c.fault("cwd", "expected a directory")
	}
	c.file.Dir = dir
}

// shellSigns are characters with a meaning in a shell.
const shellSigns = "\"'\\$`|&;<>()"

// command determines the program.
func (c *checker) command() {
	t := &c.content
	given, path := c.Has("command"), "argv"
	switch {
	case given && c.Has("argv"):
		c.fault("argv", "command and argv are mutually exclusive")
		return
	case given:
		path = "command"
		if strings.ContainsAny(t.Command, shellSigns) {
			c.fault(path, "expected none of %s, because no shell runs the command; write a list of arguments in argv instead",
				shellSigns)
			return
		}
		c.file.Argv = strings.Fields(t.Command)
	case c.Has("argv"):
		c.file.Argv = t.Argv
	default:
		if !c.Faulty("command") && !c.Faulty("argv") {
			c.fault("", "argv is missing: expected the program and its arguments as a list; or command, a string that is split "+
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
			c.fault(fmt.Sprintf("argv[%d]", i), "the argument contains a NUL byte, which would end it")
			return
		}
	}
	switch {
	case len(argv) == 0 || argv[0] == "":
		c.fault(path, "missing program: expected its name or path first")
		return
	case total > MaxArgvBytes || len(argv) > MaxArgv:
		c.fault(path, "expected at most %d arguments with %d bytes in total", MaxArgv, MaxArgvBytes)
		return
	}
	program, err := process.Find(c.file.Dir, argv[0])
	if err != nil {
		c.fault(path, "expected an executable program, in PATH or as a path relative to cwd: %s", whyNot(err))
		return
	}
	c.file.Program = program
}

// whyNot returns the reason why a program was not found, without its name.
func whyNot(err error) string {
	switch {
	case errors.Is(err, os.ErrPermission):
		return "the file is not executable"
	case errors.Is(err, os.ErrNotExist):
		return "the file does not exist"
	}
	return "not found in PATH"
}

// schema compiles a schema. Its faults have their position in it.
func (c *checker) schema(name string, text json.RawMessage) *paramschema.Schema {
	if len(text) == 0 {
		return nil
	}
	s, err := paramschema.Compile(text)
	if err == nil {
		for _, w := range s.Warnings() {
			at := c.Finding(c.within(name, w.Path), w.Message)
			c.file.Warnings = append(c.file.Warnings, faultsOf(yamlfile.Findings{at})...)
		}
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

// item matches an index in the path of a schema fault.
var item = regexp.MustCompile(`\.([0-9]+)`)

// within returns the path of a place in a schema, or that of the nearest existing parent.
func (c *checker) within(name, where string) string {
	for path := name + "." + item.ReplaceAllString(where, "[$1]"); ; {
		at := strings.LastIndexAny(path, ".[")
		if c.Has(path) || at < len(name) {
			return path
		}
		path = path[:at]
	}
}

// names refuses parameters that cannot be passed to the command.
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
			"the parameter name %s is reserved: that member of stdin has the context of the subscriptions", contextMember)
	}
}
