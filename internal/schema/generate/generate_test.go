package generate

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
)

// The tables of this package are private, and so are their tests.

func testMethods() []Method {
	var all []Method
	for name, types := range map[string][2]reflect.Type{
		methods.CreateConversation: {reflect.TypeFor[parley.CreateConversationParams](), reflect.TypeFor[parley.Snapshot]()},
		methods.SendMessage:        {reflect.TypeFor[parley.SendMessageParams](), reflect.TypeFor[parley.SendResult]()},
		methods.SendTrace:          {reflect.TypeFor[parley.SendTraceParams](), reflect.TypeFor[parley.SendResult]()},
		methods.SendNote:           {reflect.TypeFor[parley.SendNoteParams](), reflect.TypeFor[parley.SeqResult]()},
	} {
		m, _ := methods.ByName(name)
		all = append(all, Method{m, types[0], types[1]})
	}
	return all
}

// TestTablesNameExistingFields checks that each bound names an existing field. Otherwise it has no
// effect, and no test fails.
func TestTablesNameExistingFields(t *testing.T) {
	s := sourceOf(t)
	for name := range bounds {
		if _, ok := s.comments[name]; !ok {
			t.Errorf("bounds: there is no field %s", name)
		}
	}
	for name := range descriptions {
		if _, ok := s.comments[name]; !ok {
			t.Errorf("descriptions: there is no %s", name)
		}
	}
	for name := range httpDiffers {
		if m, ok := methods.ByName(name); !ok || m.Route == "" {
			t.Errorf("httpDiffers: there is no route of %s", name)
		}
	}
	if _, ok := s.comments["Event.Sequence"]; ok {
		t.Error("a field that does not exist is known")
	}
}

// TestKindsAreThoseOfTheCode: each kind is in the table, and each member of a system event belongs to one.
func TestKindsAreThoseOfTheCode(t *testing.T) {
	s := sourceOf(t)
	var table, code, named []string
	for _, k := range kinds {
		table = append(table, k.kind)
		named = append(named, slices.Concat(k.required, k.optional)...)
	}
	for name, value := range s.values {
		if name == "KindContext" { // of a trace
			continue
		}
		if strings.HasPrefix(name, "Kind") && !slices.Contains(s.known["ParticipantKind"], value) {
			code = append(code, value)
		}
	}
	slices.Sort(table)
	slices.Sort(code)
	if !slices.Equal(table, code) {
		t.Errorf("the table has %v, the code %v", table, code)
	}
	for f := range reflect.TypeFor[parley.System]().Fields() {
		if name := jsonName(reflect.TypeFor[parley.System](), f.Name); name != "kind" && !slices.Contains(named, name) {
			t.Errorf("%s belongs to no kind", name)
		}
	}
}

// TestDescriptionsUseJSONNames checks that comments use JSON names for fields, and values for
// constants.
func TestDescriptionsUseJSONNames(t *testing.T) {
	s := sourceOf(t)
	for _, c := range []struct {
		of    reflect.Type
		field string
		want  string
	}{
		{reflect.TypeFor[parley.WaitForChangeParams](), "TimeoutMs", "timeoutMs is how long the call waits. If it is absent or 0, the call does not wait. The hub reduces a " +
			"value over 60000 to 60000."},
		{reflect.TypeFor[parley.SendMessageParams](), "Outcome", "outcome is allowed with finality conversation only; absent means completed."},
		{reflect.TypeFor[parley.SubscribeParams](), "Types", "types filters stored and new events alike; absent means all. An empty list is refused."},
		{reflect.TypeFor[parley.TailParams](), "", "Request the events after sinceSeq."},
		{reflect.TypeFor[parley.ListTokensResult](), "", "A page; nextCursor is empty on the last."},
		{reflect.TypeFor[parley.TailParams](), "Limit", ""},
	} {
		if got := s.describe(c.of, c.field); got != c.want {
			t.Errorf("%s.%s: %q, want %q", c.of.Name(), c.field, got, c.want)
		}
	}
	if got := s.known["Finality"]; !slices.Equal(got, []string{"none", "turn", "conversation"}) {
		t.Errorf("the values of finality are %v", got)
	}
}

// TestTwoWays: a type that goes both ways has a strict and an open schema.
func TestTwoWays(t *testing.T) {
	d := define(sourceOf(t), testMethods())
	for name, strict := range map[string]bool{"ParticipantInput": true, "Participant": false, "OutcomeInput": true, "Outcome": false, "Note": true, "Message": false} {
		s, ok := d.schemas[name]
		if !ok {
			t.Errorf("there is no %s", name)
			continue
		}
		b, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(b), `"additionalProperties":false`); got != strict {
			t.Errorf("%s is strict: %v", name, got)
		}
	}
}

// TestSameBytes: the documents do not depend on the order of maps.
func TestSameBytes(t *testing.T) {
	methods := testMethods()
	first, err := Documents("../../..", methods)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		again, err := Documents("../../..", methods)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(first, again) {
			t.Fatal("made again, the documents are others")
		}
	}
}

// TestNoSources: a wrong directory is an error, and no empty document.
func TestNoSources(t *testing.T) {
	if _, err := Documents(t.TempDir(), nil); err == nil {
		t.Error("documents were made of nothing")
	}
}

func sourceOf(t *testing.T) *source {
	t.Helper()
	s, err := readSource("../../..")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestReferenceNeedsARuleOfEachMethod: a method without rules is an error, and so are rules without
// a method.
func TestReferenceNeedsARuleOfEachMethod(t *testing.T) {
	if _, err := Reference("../../..", testMethods()); err == nil {
		t.Error("Reference wrote a page without some of the methods")
	}
	for _, headings := range [][]string{{"a"}, {"b", "a"}, {"a", "b", "c"}} {
		if _, err := readSections("\n## a\none\n## b\ntwo\n", headings); err == nil {
			t.Errorf("the sections a and b were accepted as %v", headings)
		}
	}
	sections, err := readSections("\n## a\none\n## b\ntwo\n", []string{"a", "b"})
	if err != nil || sections["a"] != "one" || sections["b"] != "two" {
		t.Errorf("the sections are %v, %v", sections, err)
	}
}
