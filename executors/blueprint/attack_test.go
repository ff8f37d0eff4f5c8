//go:build linux

package blueprint_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors/blueprint"
	"github.com/parleyhub/parley/executors/process"
	"github.com/parleyhub/parley/internal/arguments"
)

// declared is a schema that accepts anything under some names.
const declared = `"parameters_schema":{"type":"object","properties":{"s":{},"l":{},"o":{},"n":{}}}`

// attacks are values with a meaning for shells, flag parsers and careless programs.
var attacks = []string{
	"; rm -rf /", "$(id)", "`id`", "| cat", "&& true", "> /tmp/x", "a\nb\r\nc", "\t", " ", "", "-", "--", "-rf", "--o=evil", "--s", "a,b", "a=b", "=", "'", `"`, `\`, "*", "~", "$HOME", "%s", "\x01\x7f",
	"é😀\u2028\u202e\ufeff", "\ufffd", "null", "true", "1", `{"a":1}`, "[1]", strings.Repeat("x", 50<<10),
}

// A command gets each value unchanged, in every way, through a hub and a process.
func TestAttacks(t *testing.T) {
	if testing.Short() {
		t.Skip("short: make test runs it, without the race detector")
	}
	properties, values := []string{`"l":{}`}, map[string]any{"l": attacks}
	for i, value := range attacks {
		properties = append(properties, fmt.Sprintf(`"v%d":{}`, i))
		values[fmt.Sprintf("v%d", i)] = value
	}
	dir := t.TempDir()
	for _, via := range []string{"flags", "env", "stdin"} {
		file(t, dir, via, `"params_via":"`+via+`","parameters_schema":{"properties":{`+strings.Join(properties, ",")+`}}`, "report")
	}
	w := newWorld(t, dir)
	parameters, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}

	got := w.reportedWhole(w.start("flags", string(parameters)))
	var want []string
	for _, value := range attacks {
		want = append(want, "--l="+value)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if value, ok := values[name].(string); ok {
			want = append(want, "--"+name+"="+value)
		}
	}
	if diff := cmp.Diff(want, got.Args); diff != "" || got.Stdin != "" {
		t.Errorf("as flags: %s", diff)
	}

	got = w.reportedWhole(w.start("env", string(parameters)))
	for i, value := range attacks {
		if !slices.Contains(got.Env, fmt.Sprintf("PARAM_V%d=%s", i, value)) {
			t.Errorf("%.50q is not among the variables", value)
		}
	}

	got = w.reportedWhole(w.start("stdin", string(parameters)))
	var read map[string]any
	if err := json.Unmarshal([]byte(got.Stdin), &read); err != nil {
		t.Fatal(err)
	}
	for name, value := range values {
		if text, ok := value.(string); ok && read[name] != text {
			t.Errorf("%.50q on stdin: %.50q", text, read[name])
		}
	}
}

// reportedWhole is reported, but also reads the attached file.
func (w *world) reportedWhole(s *parley.Session) seen {
	w.Helper()
	r := w.completed(s)
	if r.Attachment != nil {
		whole := string(w.attachment(s.SessionID, r.Attachment.SHA256))
		r.ResultText, r.Attachment = &whole, nil
	}
	return w.reported(r)
}

// Values that are not strings keep their text, and the largest string is complete.
func TestValues(t *testing.T) {
	if testing.Short() {
		t.Skip("short: make test runs it, without the race detector")
	}
	dir := t.TempDir()
	file(t, dir, "flags", declared, "report")
	file(t, dir, "stdin", `"params_via":"stdin",`+declared, "report")
	w := newWorld(t, dir)
	deep := strings.Repeat(`[`, 30) + strings.Repeat(`]`, 30)
	const numbers = `{"n":12345678901234567890,"l":[0.10,1e300,-0,true,null],"o":{"__proto__":{"a":[1,2]},"b":null}}`
	got := w.reported(w.completed(w.start("flags", numbers)))
	want := []string{"--n=12345678901234567890", "--l=0.10", "--l=1e300", "--l=-0", "--l=true", "--l=null", `--o={"__proto__":{"a":[1,2]},"b":null}`}
	if diff := cmp.Diff(want, got.Args); diff != "" {
		t.Error(diff)
	}
	if got := w.reported(w.completed(w.start("stdin", numbers))); got.Stdin != numbers {
		t.Errorf("%q", got.Stdin)
	}
	if got := w.reported(w.completed(w.start("stdin", `{"o":`+deep+`}`))); got.Stdin != `{"o":`+deep+`}` {
		t.Errorf("%q", got.Stdin)
	}
	large := strings.Repeat("0123456789abcde\n", 50_000) // as JSON, some 850 kB
	parameters, err := json.Marshal(map[string]string{"s": large})
	if err != nil {
		t.Fatal(err)
	}
	if got := w.reportedWhole(w.start("stdin", string(parameters))); got.Stdin != string(parameters) {
		t.Errorf("%d bytes of %d", len(got.Stdin), len(parameters))
	}
}

// The longest allowed argument and the largest allowed number of them fit the system.
func TestLongest(t *testing.T) {
	if testing.Short() {
		t.Skip("short: make test runs it, without the race detector")
	}
	dir := t.TempDir()
	file(t, dir, "flags", declared, "report")
	set, faults := blueprint.Load(dir)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	var pool process.Pool
	defer pool.Close()
	for name, parameters := range map[string]string{
		"longest": `{"s":"` + strings.Repeat("x", arguments.MaxBytes-len("--s=")) + `"}`,
		"most":    `{"l":[` + strings.Repeat(`"",`, arguments.MaxTotalBytes/13-1) + `""]}`,
	} {
		argv, _, _, err := blueprint.Arguments(set.Files[0], json.RawMessage(parameters))
		if err != nil {
			t.Fatal(name, err)
		}
		p, err := pool.Start(t.Context(), &process.Spec{Argv: argv})
		if err == nil {
			err = p.Wait()
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Parameters that cannot be passed on are refused by the hub before the session, and by the runner
// independently.
func TestRefusedParameters(t *testing.T) {
	dir := t.TempDir()
	file(t, dir, "flags", declared, "report")
	file(t, dir, "env", `"params_via":"env",`+declared, "report")
	file(t, dir, "typed", `"parameters_schema":{"type":"object","properties":{"s":{"type":"integer"}},"required":["s"]}`, "report")
	w := newWorld(t, dir)
	for _, c := range []struct{ agent, parameters string }{
		{"flags", `{"undeclared":1}`},
		{"flags", `{"__proto__":1}`},
		{"flags", `{"constructor":{"s":1}}`},
		{"flags", `{"s":"a\u0000b"}`},
		{"env", `{"s":"a\u0000b"}`},
		{"flags", `{"l":["a\u0000b"]}`},
		{"flags", `{"s":"` + strings.Repeat("x", arguments.MaxBytes) + `"}`},
		{"env", `{"s":"` + strings.Repeat("x", arguments.MaxBytes) + `"}`},
		{"env", `{"z":1}`},
		{"typed", `{"s":"1"}`},
		{"typed", `{}`},
	} {
		_, err := w.caller.StartSession(t.Context(), &parley.StartSessionParams{AgentName: c.agent, Parameters: json.RawMessage(c.parameters)})
		if !errors.Is(err, parley.ErrParameters) {
			t.Errorf("%s %.50s: the hub says %v", c.agent, c.parameters, err)
		}
		f := w.set.File(c.agent)
		if c.agent == "typed" {
			continue // the schema is for the next test
		}
		_, _, _, err = blueprint.Arguments(f, json.RawMessage(c.parameters))
		var refusal *parley.Error
		if !errors.As(err, &refusal) || refusal.Err != parley.ErrParameters || len(refusal.Validation.ValidationErrors) == 0 || refusal.Validation.AgentName != c.agent {
			t.Errorf("%s %.50s: the runner says %v", c.agent, c.parameters, err)
		}
	}
}

// A runner whose file is stricter than the registered schema validates with its own file.
func TestTrustsNobody(t *testing.T) {
	dir := t.TempDir()
	file(t, dir, "typed", `"parameters_schema":{"type":"object","properties":{"s":{},"z":{}}}`, "report")
	w := newWorld(t, dir)
	file(t, dir, "typed", `"parameters_schema":{"type":"object","properties":{"s":{"type":"integer"}}}`, "report")
	stricter, faults := blueprint.Load(dir)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	*w.set = *stricter
	r := w.failed(w.start("typed", `{"s":"x"}`), "parameters", "The parameters do not match the agent's parameters_schema")
	want := []parley.ValidationError{{Path: "$.s", Message: "'x' is not of type 'integer'", SchemaPath: "properties.s.type"}}
	if diff := cmp.Diff(want, r.ValidationErrors); diff != "" || r.ExitCode != nil {
		t.Errorf("%s %s", diff, indent(r))
	}
	r = w.failed(w.start("typed", `{"s":1,"z":1}`), "parameters", "The parameters do not match the agent's parameters_schema")
	if len(r.ValidationErrors) != 1 || r.ValidationErrors[0].Path != "$.z" {
		t.Errorf("%s", indent(r))
	}
}
