package paramschema_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	_ "github.com/santhosh-tekuri/jsonschema/v5/httploader" // so that the library could load from addresses

	"github.com/parleyhub/parley/internal/paramschema"
)

// Everything that can name a file or a server points at valid ones. A refused schema has not read
// them, and the error contains nothing of them.
func TestNothingIsLoaded(t *testing.T) {
	const canary = "canary-in-the-file"
	file := filepath.Join(t.TempDir(), "a.json")
	if err := os.WriteFile(file, []byte(`{"title":"`+canary+`","definitions":{"a":{}},"$anchor":"a"}`),
		0o600); err != nil {
		t.Fatal(err)
	}
	var asked atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write([]byte(`{"title":"` + canary + `","definitions":{"a":{}}}`))
	}))
	defer server.Close()
	t.Chdir(filepath.Dir(file))

	var targets []string
	for _, base := range []string{"file://" + file, "file:" + file, "FILE://" + file, file, "a.json", "./a.json",
		"//" + file, server.URL, server.URL + "/a.json", "urn:a", "a b"} {
		targets = append(targets, base, base+"#", base+"#/definitions/a", base+"#a")
	}
	targets = append(targets, "http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-04/schema", "?", "",
		"urn:parley:schema", "urn:parley:schema#", "/definitions/a", "#a")
	for _, target := range targets {
		ref, _ := json.Marshal(target)
		for _, schema := range []string{
			`{"$ref":%}`,
			`{"properties":{"a":{"anyOf":[{"$ref":%}]}}}`,
			`{"x":{"$ref":%},"$ref":"#/x"}`,
			`{"$id":%,"$ref":"#/definitions/a"}`,
			`{"$id":%,"properties":{"a":{"$ref":"a.json"}}}`,
			`{"properties":{"a":{"$id":%,"$ref":"#/definitions/a"}}}`,
			`{"definitions":{"a":{"$id":%}},"items":{"$ref":%}}`,
			`{"$schema":"http://json-schema.org/draft-04/schema#","id":%,"items":{"$ref":"a.json#"}}`,
			`{"$schema":"http://json-schema.org/draft-04/schema#","items":{"id":%,"$ref":"#/definitions/a"}}`,
			`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveRef":%}`,
			`{"$schema":"https://json-schema.org/draft/2020-12/schema","$dynamicRef":%}`,
			`{"$schema":"https://json-schema.org/draft/2020-12/schema","contentSchema":{},"allOf":[{"$ref":%}]}`,
			`{"items":{"$schema":%},"$ref":%}`,
			`{"if":{"$ref":%},"dependencies":{"a":{"$ref":%}}}`,
		} {
			schema = strings.ReplaceAll(schema, "%", string(ref))
			if err := refused(t, schema); strings.Contains(err.Error(), canary) {
				t.Errorf("%s: the refusal has of the file: %v", schema, err)
			}
		}
		if !strings.HasPrefix(target, "http://json-schema.org/") {
			refused(t, `{"$schema":`+string(ref)+`}`)
			refused(t, `{"$schema":`+string(ref)+`,"$id":`+string(ref)+`}`)
		}
	}

	// These keywords are accepted without effect: nothing is loaded.
	for _, schema := range []string{
		`{"$id":"` + server.URL + `","properties":{"a":{"$ref":"#/definitions/a"}},"definitions":{"a":{"type":"null"}}}`,
		`{"$id":"file://` + file + `","properties":{"$ref":{"type":"null"},"a":{"type":"null"}}}`,
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","$vocabulary":{"` + server.URL +
			`":false},"properties":{"a":{"type":"null"}}}`,
		`{"properties":{"a":{"type":"null"}},"examples":[{"$ref":"a.json"}],"enum":[{"a":1},{"$ref":"a.json","$id":"` +
			server.URL + `"}]}`,
		`{"$schema":"https://json-schema.org/draft/2020-12/schema","contentSchema":{"$ref":"` + server.URL +
			`"},"properties":{"a":{"type":"null"}}}`,
	} {
		s, err := paramschema.Compile(json.RawMessage(schema))
		if err != nil {
			t.Errorf("%s: %v", schema, err)
			continue
		}
		if got := validate(t, s, `{"a":1}`); len(got) != 1 || !strings.Contains(got[0], "1 is not of type 'null'") {
			t.Errorf("%s: %q", schema, got)
		}
	}
	if n := asked.Load(); n > 0 {
		t.Errorf("the server was asked %d times", n)
	}
}
