package wire_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/wire"
)

func TestReadRequestKeepsBytes(t *testing.T) {
	frame := ` { "id" : "\u0041é" , "params" : { "x" : [ 1.0, "a\ud83d\ude00" ] } , "method":"tail" , "jsonrpc":"2.0" } `
	r, err := wire.ReadRequest([]byte(frame))
	if err != nil {
		t.Fatal(err)
	}
	if string(r.ID) != `"\u0041é"` || string(r.Method) != "tail" ||
		string(r.Params) != `{ "x" : [ 1.0, "a\ud83d\ude00" ] }` {
		t.Errorf("got id %s, method %s, params %s", r.ID, r.Method, r.Params)
	}
}

func TestReadRequestDepth(t *testing.T) {
	nested := func(depth int) string {
		return `{"jsonrpc":"2.0","id":1,"method":"m","params":` + strings.Repeat("[", depth-1) + strings.Repeat("]",
			depth-1) + `}`
	}
	if _, err := wire.ReadRequest([]byte(nested(limits.MaxDepth))); err != nil {
		t.Errorf("depth %d: %v", limits.MaxDepth, err)
	}
	if _, err := wire.ReadRequest([]byte(nested(limits.MaxDepth + 1))); !errors.Is(err, parley.ErrParse) {
		t.Errorf("depth %d: %v", limits.MaxDepth+1, err)
	}
	brackets := `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"` + strings.Repeat(`[{\"\\`, 100) + `"}}`
	if _, err := wire.ReadRequest([]byte(brackets)); err != nil {
		t.Errorf("brackets inside of a string: %v", err)
	}
	if _, err := wire.ReadRequest([]byte(strings.Repeat("[", 1<<20))); !errors.Is(err, parley.ErrParse) {
		t.Errorf("a million brackets: %v", err)
	}
}

func TestReadRequestRefusals(t *testing.T) {
	longest := strings.Repeat("9", limits.MaxIDBytes)
	for _, c := range []struct {
		frame string
		want  error
		id    string // that can be returned
	}{
		{"", parley.ErrParse, ""},
		{"nul", parley.ErrParse, ""},
		{"\ufeff{}", parley.ErrParse, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":NaN}}`, parley.ErrParse, ""},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", parley.ErrParse, ""},
		{"{\"jsonrpc\":\"2.0\",\"id\":\"a\x00b\",\"method\":\"m\"}", parley.ErrParse, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"m",}`, parley.ErrParse, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"m"}x`, parley.ErrParse, ""},
		{`{"jsonrpc":"2.0","id":01,"method":"m"}`, parley.ErrParse, ""},
		{`null`, parley.ErrInvalidRequest, ""},
		{`1`, parley.ErrInvalidRequest, ""},
		{`{}`, parley.ErrInvalidRequest, ""},
		{`{"jsonrpc":"2.0","id":true,"method":"m"}`, parley.ErrInvalidRequest, ""},
		{`{"jsonrpc":"2.0","id":1e3,"method":"m"}`, parley.ErrInvalidRequest, ""},
		{`{"jsonrpc":"2.0","id":` + longest + `9,"method":"m"}`, parley.ErrInvalidRequest, ""},
		{`{"jsonrpc":"2.0","id":` + longest + `,"method":"m"}`, nil, longest},
		{`{"jsonrpc":"2.0","id":-0,"method":"m"}`, nil, "-0"},
		{`{"jsonrpc":"2.0","id":"","method":"m"}`, nil, `""`},
		{`{"jsonrpc":"2.0","method":"m","method":"n","id":1}`, parley.ErrInvalidRequest, "1"},
		{`{"jsonrpc":"2.0","id":1,"\u0069d":2,"method":"m"}`, parley.ErrInvalidRequest, "1"},
		{`{"jsonrpc":"2.0","id":1,"method":null}`, parley.ErrInvalidRequest, "1"},
		{`{"jsonrpc":2.0,"id":1,"method":"m"}`, parley.ErrInvalidRequest, "1"},
	} {
		r, err := wire.ReadRequest([]byte(c.frame))
		if !errors.Is(err, c.want) || string(r.ID) != c.id && !strings.Contains(c.frame, `"n"`) {
			t.Errorf("%.80q: id %q, error %v; want id %q, error %v", c.frame, r.ID, err, c.id, c.want)
		}
		var p *parley.Error
		if err != nil && !errors.As(err, &p) {
			t.Errorf("%.80q: %T is no refusal", c.frame, err)
		}
	}
}

// FuzzReadRequest compares the envelope with encoding/json: accepted text is JSON, and its parts
// are unchanged.
func FuzzReadRequest(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}`,
		`{"jsonrpc":"2.0","id":"a\"b","method":"tail","params":{"a":[1,{"b":null}]}}`,
		`[]`, `{"id":1,"id":2}`, `{"jsonrpc":"2.0","id":-1,"method":""}`, "\xff", `{"a":"\ud800"}`,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":"\\"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		r, err := wire.ReadRequest(frame)
		if errors.Is(err, parley.ErrParse) {
			return
		}
		if !json.Valid(frame) || !utf8.Valid(frame) {
			t.Fatalf("%q is no JSON, but was read: %v", frame, err)
		}
		if err != nil {
			if !errors.Is(err, parley.ErrInvalidRequest) {
				t.Fatalf("%q: %v", frame, err)
			}
			return
		}
		var e struct {
			Version string          `json:"jsonrpc"`
			ID      json.RawMessage `json:"id"`
			Params  json.RawMessage `json:"params"`
		}
		if err := json.Unmarshal(frame, &e); err != nil {
			t.Fatalf("%q: %v", frame, err)
		}
		if e.Version != "2.0" || string(e.ID) != string(r.ID) || string(e.Params) != string(r.Params) {
			t.Fatalf("%q: read %+v, encoding/json says %+v", frame, r, e)
		}
	})
}
