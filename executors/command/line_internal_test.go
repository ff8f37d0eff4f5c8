package command

// White-box: lines are parsed one by one, and compared with the schema in docs.

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/parleyhub/parley/internal/schematest"
)

func outputSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	const name = "command-output.schema.json"
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return schematest.Compile(t, text)
}

func takenBySchema(s *jsonschema.Schema, text []byte) bool {
	var v any
	return json.Unmarshal(text, &v) == nil && s.Validate(v) == nil
}

// corpus are lines, and whether they are valid.
var corpus = map[string]bool{
	`{"text":"a"}`:  true,
	`{"data":null}`: true,
	`{"data":{"Data":1},"schema":"s","tags":["a","b"]}`:                                 true,
	`{"attachments":[{"sha256":"ab"}]}`:                                                 true,
	`{"files":[{"path":"a"},{"base64":"AA=="}]}`:                                        true,
	`{"text":"a","finality":"conversation","outcome":{"status":"failed","reason":"r"}}`: true,
	`{"text":"a","next":"b"}`:                                                           true,
	`{"text":"a","next":"b","finality":"turn"}`:                                         true,
	`{"progress":"a"}`:                                                                  true,
	`{"delta":"a"}`:                                                                     true,
	`{"trace":{"kind":"k","text":"","data":[1]}}`:                                       true,
	`{"yield":true}`:                                                                    true,

	`{}`:                                 false,
	`[]`:                                 false,
	`null`:                               false,
	`"text"`:                             false,
	`{"text":null}`:                      false,
	`{"text":["a"]}`:                     false,
	`{"text":""}`:                        false,
	`{"Text":"a"}`:                       false,
	`{"text":"a","more":1}`:              false,
	`{"tags":["a"]}`:                     false,
	`{"text":"a","tags":null}`:           false,
	`{"text":"a","tags":[null]}`:         false,
	`{"text":"a","tags":"b"}`:            false,
	`{"text":"a","finality":null}`:       false,
	`{"text":"a","finality":"None"}`:     false,
	`{"text":"a","outcome":{}}`:          false,
	`{"attachments":[]}`:                 false,
	`{"attachments":[{"SHA256":"a"}]}`:   false,
	`{"files":[]}`:                       false,
	`{"files":{"path":"a"}}`:             false,
	`{"files":[{"path":"a","mode":7}]}`:  false,
	`{"trace":{"Kind":"k"}}`:             false,
	`{"trace":{"kind":""}}`:              false,
	`{"trace":{"kind":"k","text":null}}`: false,
	`{"trace":"k"}`:                      false,
	`{"progress":"a","text":"b"}`:        false,
	`{"progress":""}`:                    false,
	`{"delta":1}`:                        false,
	`{"yield":1}`:                        false,
	`{"yield":"true"}`:                   false,
	`{"text":"a","finality":"conversation","outcome":{"status":"done"}}`:               false,
	`{"text":"a","finality":"conversation","outcome":{"status":"failed","reason":1}}`:  false,
	`{"text":"a","finality":"conversation","outcome":{"Status":"failed"}}`:             false,
	`{"text":"a","finality":"conversation","next":"b"}`:                                false,
	`{"text":"a","finality":"turn","outcome":{"status":"failed"}}`:                     false,
	`{"text":"a","finality":"conversation","outcome":{"status":"failed","more":true}}`: false,
}

// This package accepts the same lines as the schema that programs use.
func TestLineIsThatOfTheSchema(t *testing.T) {
	t.Parallel()
	s := outputSchema(t)
	for text, want := range corpus {
		if _, err := parseLine([]byte(text)); (err == nil) != want {
			t.Errorf("%s: %v, expected accepted: %t", text, err, want)
		}
		if got := takenBySchema(s, []byte(text)); got != want {
			t.Errorf("%s: accepted by the schema: %t, expected %t", text, got, want)
		}
	}
	for _, text := range []string{`{"text":"a","text":"b"}`, `{"trace":{"kind":"a","kind":"b"}}`, `{"text":"\udc00"}`,
		`{"text":"\ud800\u0041"}`, "{\"text\":\"\xff\"}"} {
		if _, err := parseLine([]byte(text)); err == nil { // a schema cannot refuse these
			t.Errorf("%q was accepted", text)
		}
	}
}

// Any input is an error or a line that the schema accepts.
func FuzzLine(f *testing.F) {
	for text := range corpus {
		f.Add([]byte(text))
	}
	s := outputSchema(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := parseLine(text)
		switch {
		case err == nil && !takenBySchema(s, text):
			t.Errorf("%q was accepted, but not by the schema", text)
		case err == nil && l.message == nil && l.trace == nil && l.delta == nil && !l.yield:
			t.Errorf("%q has no content", text)
		}
	})
}
