package paramschema_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/paramschema"
)

// crawler is the schema of the seed.
const crawler = `{"type":"object","required":["url"],"properties":{"url":{"type":"string","format":"uri"},` +
	`"depth":{"type":"integer","default":2}}}`

// stallWithin is one minute by default, which only an endless loop reaches. With one second, it
// measures the promise on an idle machine.
var stallWithin = flag.Duration("stall.within", time.Minute, "the `CPU time` that any one answer may take")

func compile(t testing.TB, schema string) *paramschema.Schema {
	t.Helper()
	s, err := paramschema.Compile(json.RawMessage(schema))
	if err != nil {
		t.Fatalf("compile %.200s: %v", schema, err)
	}
	return s
}

// refused compiles a schema that must be refused, and returns the error.
func refused(t testing.TB, schema string) *parley.Error {
	t.Helper()
	s, err := paramschema.Compile(json.RawMessage(schema))
	var e *parley.Error
	if !errors.As(err, &e) || s != nil {
		t.Fatalf("compile %.200s: want a refusal, got %v", schema, err)
	}
	return e
}

// validate validates a value, and returns one line per error.
func validate(t testing.TB, s *paramschema.Schema, value string) []string {
	t.Helper()
	wrong, err := s.Validate(json.RawMessage(value))
	if err != nil {
		t.Fatalf("validate %.200s: %v", value, err)
	}
	var lines []string
	for _, w := range wrong {
		lines = append(lines, w.Path+" | "+w.Message+" | "+w.SchemaPath)
	}
	if wrong != nil && lines == nil {
		t.Errorf("validate %.200s: an empty list, want nil", value)
	}
	return lines
}

// within fails if f takes more CPU time than stallWithin in each of three attempts.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	var took time.Duration
	for range 3 {
		begin := cpuTime()
		f()
		if took = cpuTime() - begin; took <= *stallWithin {
			return
		}
	}
	t.Errorf("%s took %v of CPU time, three times; expected at most %v", what, took, *stallWithin)
}

// list joins n parts with commas.
func list(n int, part func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = part(i)
	}
	return strings.Join(parts, ",")
}

// same joins n copies of a part with commas.
func same(n int, part string) string { return list(n, func(int) string { return part }) }

// numbered joins n copies of a part with its index.
func numbered(n int, format string) string {
	return list(n, func(i int) string { return fmt.Sprintf(format, i) })
}

// chain returns the definitions a0 to an, where each but the last refers to the next.
func chain(n int, last string) string {
	return list(n, func(i int) string { return fmt.Sprintf(`"a%d":{"$ref":"#/definitions/a%d"}`, i, i+1) }) +
		fmt.Sprintf(`,"a%d":%s`, n, last)
}
