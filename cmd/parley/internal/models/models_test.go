package models_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley/cmd/parley/internal/models"
	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/executors/llm/replay"
	"github.com/parleyhub/parley/internal/golden"
)

// TestSchemaIsPublished: docs/models.schema.json is the schema of what is taken.
func TestSchemaIsPublished(t *testing.T) {
	golden.Compare(t, filepath.Join("..", "..", "..", "..", "docs", "models.schema.json"), models.Schema())
}

// TestFaults checks that each fault is reported at its position.
func TestFaults(t *testing.T) {
	for text, want := range map[string]string{
		"": `m.yaml:1:1: expected models, such as "runtimes: {ollama: {kind: openai, ` +
			`base_url: http://127.0.0.1:11434/v1}}"`,
		"runtime: {}": `m.yaml:1:1: unknown: "runtime"; is it runtimes?; m.yaml:1:1: runtimes is ` +
			`missing`,
		"runtimes: []":                       `m.yaml:1:11: runtimes: expected members below it`,
		"runtimes: {ollama: {}}":             `m.yaml:1:20: runtimes.ollama: kind is missing: expected openai or anthropic`,
		"runtimes: {ollama: {kind: openai}}": `m.yaml:1:20: runtimes.ollama: base_url is missing`,
		"runtimes: {ollama: {kind: google, base_url: http://a}}": `m.yaml:1:27: ` +
			`runtimes.ollama.kind: expected one of openai, anthropic`,
		"runtimes: {Ollama: {kind: openai, base_url: http://a}}": `m.yaml:1:20: ` +
			`runtimes.Ollama: expected a name of 1 to 32 of a-z 0-9 _ -, which begins with a letter`,
		"runtimes: {o: {kind: openai, base_url: ftp://a}}": `m.yaml:1:40: ` +
			`runtimes.o.base_url: expected an address that begins with https:// or http://, without a name or a password`,
		"runtimes: {o: {kind: openai, base_url: 'https://u:p@a'}}": `m.yaml:1:40: ` +
			`runtimes.o.base_url: expected an address that begins with https:// or http://, without a name or a password`,
		"runtimes: {openai: {kind: anthropic}}": `m.yaml:1:27: ` +
			`runtimes.openai.kind: expected openai, or nothing: it is what its name says`,
		"runtimes: {anthropic: {api: chat}}": `m.yaml:1:29: ` +
			`runtimes.anthropic.api: expected nothing: it is for kind openai`,
		"runtimes: {scripted: {base_url: http://a}}": `m.yaml:1:22: ` +
			`runtimes.scripted: expected models alone: scripted answers from files`,
		"runtimes: {openai: {key_env: 'sk-1'}}": `m.yaml:1:30: ` +
			`runtimes.openai.key_env: expected the name of a variable: letters, digits and _`,
		"runtimes: {openai: {key: x}}": `m.yaml:1:21: ` +
			`unknown: "runtimes.openai.key": expected kind, base_url, key_env, api, headers, query, extra_body, models`,
		"runtimes:\n  openai:\n    models:\n      - {prefix: a}\n      - {prefix: b, contextwindow: 1}\n": "m.yaml:5:9: " +
			"runtimes.openai.models[1]: ",
	} {
		_, err := models.Parse("m.yaml", []byte(text))
		if got := strings.Join(models.Faults(err), "; "); err == nil || !strings.HasPrefix(got, want) {
			t.Errorf("%s:\n%s\nexpected\n%s", text, got, want)
		}
	}
}

// world are the options of a program with a file, a directory of blueprints with a script, and an
// environment.
func world(t *testing.T, file string, env map[string]string) *models.Options {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "scripts", "hello.yaml"), "turns: [{text: Good day.}]\n")
	o := &models.Options{Blueprints: dir, Mode: replay.Auto, Getenv: func(name string) string { return env[name] }}
	if file != "" {
		o.File = filepath.Join(dir, "models.yaml")
		write(t, o.File, file)
	}
	return o
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, o *models.Options) *models.Open {
	t.Helper()
	m, err := models.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// TestRuntimes checks that the environment, the file and the scripts determine the runtimes, and
// that a missing runtime has a reason.
func TestRuntimes(t *testing.T) {
	const file = `
runtimes:
  ollama: {kind: openai, base_url: "http://127.0.0.1:11434/v1", models: [{prefix: llama3, context_window: 8192, price: {input: 1, output: 2}}]}
  guarded: {kind: anthropic, base_url: "http://127.0.0.1:1", key_env: GUARDED_KEY}
  openai: {models: [{prefix: gpt-4o, context_window: 1000}]}
`
	for name, c := range map[string]struct {
		file  string
		env   map[string]string
		names []string
	}{
		"nothing": {"", nil, []string{"scripted"}},
		"keys": {"", map[string]string{"OPENAI_API_KEY": "sk-1", "ANTHROPIC_API_KEY": "sk-2"},
			[]string{"anthropic", "openai", "scripted"}},
		"an address": {"", map[string]string{"OPENAI_BASE_URL": "http://127.0.0.1:1/v1"}, []string{"openai", "scripted"}},
		"a file":     {file, nil, []string{"ollama", "scripted"}},
		"its own key": {file, map[string]string{"GUARDED_KEY": "k", "OPENAI_API_KEY": "sk-1"}, []string{"guarded", "ollama",
			"openai", "scripted"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := open(t, world(t, c.file, c.env))
			if !slices.Equal(m.Runtimes.Names(), c.names) {
				t.Errorf("%v, expected %v", m.Runtimes.Names(), c.names)
			}
			_, _, err := m.Runtimes.Find("guarded:x")
			if err = m.Explain(err, "guarded:x"); slices.Contains(c.names, "guarded") != (err == nil) || c.file != "" &&
				err != nil && !strings.Contains(err.Error(), "(guarded: GUARDED_KEY is not set)") {
				t.Errorf("guarded: %v", err)
			}
		})
	}
	m := open(t, world(t, file, map[string]string{"OPENAI_API_KEY": "sk-1"}))
	for model, window := range map[string]int{"ollama:llama3:8b": 8192, "ollama:gpt-4o": 0, "openai:gpt-4o": 1000} {
		r, name, err := m.Runtimes.Find(model)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.Capabilities(name).ContextWindow; got != window {
			t.Errorf("%s has a window of %d, expected %d", model, got, window)
		}
	}
	priced := open(t, world(t, "runtimes: {openai: {models: [{prefix: gpt-4o, price: {input: 2, output: 3}}]}}",
		map[string]string{"OPENAI_API_KEY": "sk-1"}))
	r, name, err := priced.Runtimes.Find("openai:gpt-4o-2024-08-06")
	if err != nil {
		t.Fatal(err)
	}
	known, got := llm.OpenAIModels().Find("gpt-4o"), r.Capabilities(name)
	if got.Price == nil || got.Price.Output != 3 || got.ContextWindow != known.ContextWindow || known.ContextWindow == 0 ||
		got.MaxOutputTokens != known.MaxOutputTokens {
		t.Errorf("a price takes away what is known: %+v", got)
	}
}

// TestRefused checks that a setting that cannot be used is an error with its name. Scripts with
// faults only disable their runtime.
func TestRefused(t *testing.T) {
	for setting, o := range map[string]*models.Options{
		"models": world(t, "runtimes: 1", nil),
		"replay": func() *models.Options {
			o := world(t, "", nil)
			o.Replay, o.Mode = filepath.Join(t.TempDir(), "none.jsonl"), replay.Play
			return o
		}(),
	} {
		_, err := models.New(o)
		if at, ok := errors.AsType[*models.SettingError](err); !ok || at.Setting != setting {
			t.Errorf("%s: %v", setting, err)
		}
	}
	o := world(t, "", nil)
	write(t, filepath.Join(o.Blueprints, "scripts", "broken.yaml"), "turns: 1\n")
	m := open(t, o)
	_, _, err := m.Runtimes.Find("scripted:hello")
	if err = m.Explain(err, "scripted:hello"); len(m.Faults) == 0 || err == nil || !strings.Contains(err.Error(),
		"its scripts have faults") {
		t.Errorf("%v, %v", m.Faults, err)
	}
}

// TestReplay checks that answers of models are recorded without the key, and played back without a
// server or a key. With Look nothing is written.
func TestReplay(t *testing.T) {
	vendor := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sk-secret" {
			t.Errorf("asked with %q", r.Header.Get("Authorization"))
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"id":"c1","object":"chat.completion","created":1,"model":"small","choices":[{"index":0,` +
			`"finish_reason":"stop","message":{"role":"assistant","content":"Good day, sk-secret."}}],` +
			`"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}`))
	}))
	defer vendor.Close()
	o := world(t, "runtimes: {local: {kind: openai, base_url: '"+vendor.URL+"/v1', key_env: LOCAL_KEY}}",
		map[string]string{"LOCAL_KEY": "sk-secret"})
	o.Replay = filepath.Join(t.TempDir(), "run.jsonl")
	o.Look = true
	if m := open(t, o); len(m.Missing) == 0 {
		t.Error("nothing is missing")
	}
	if _, err := os.Stat(o.Replay); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("a look has written: %v", err)
	}
	o.Look = false
	ask := func() string {
		m, err := models.New(o)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		r, name, err := m.Runtimes.Find("local:small")
		if err != nil {
			t.Fatal(m.Explain(err, "local:small"))
		}
		p, err := r.Prepare(t.Context(), &llm.Definition{Model: name}, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := r.Run(t.Context(), p, &llm.Input{Messages: []llm.Message{{Role: llm.RoleUser, Text: "Hello."}}})
		if err != nil {
			t.Fatal(err)
		}
		return got.Content
	}
	if got := ask(); got != "Good day, sk-secret." {
		t.Fatal(got)
	}
	vendor.Close()
	text, err := os.ReadFile(o.Replay)
	if err != nil || bytes.Contains(text, []byte("sk-secret")) {
		t.Errorf("the cassette has the key, or is none: %v", err)
	}
	o.Mode, o.Getenv = replay.Play, func(string) string { return "" }
	if got := ask(); got != "Good day, [secret]." {
		t.Error(got)
	}
}

// TestAPI: a server that is not OpenAI's is asked by chat completions, whatever the runtime is
// called, unless the file says otherwise.
func TestAPI(t *testing.T) {
	for name, c := range map[string]struct {
		file string
		env  map[string]string
		path string
	}{
		"another runtime": {"runtimes: {openai2: {kind: openai, base_url: '%s/v1'}}", nil, "/v1/chat/completions"},
		"another by responses": {"runtimes: {openai2: {kind: openai, base_url: '%s/v1', api: responses}}", nil,
			"/v1/responses"},
		"openai, by environment": {"", map[string]string{"OPENAI_BASE_URL": "%s/v1", "OPENAI_API_KEY": "k"},
			"/v1/chat/completions"},
		"openai, by a file": {"runtimes: {openai: {base_url: '%s/v1', models: [{prefix: gpt-4o, context_window: " +
			"5000}]}}", nil, "/v1/chat/completions"},
		"openai by responses": {"runtimes: {openai: {base_url: '%s/v1', api: responses}}", nil, "/v1/responses"},
		"a row says it": {"runtimes: {openai: {base_url: '%s/v1', models: [{prefix: gpt-4o, api: responses}]}}", nil,
			"/v1/responses"},
	} {
		t.Run(name, func(t *testing.T) {
			var path, body string
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				raw, _ := io.ReadAll(r.Body)
				path, body = r.URL.Path, string(raw)
				w.WriteHeader(http.StatusTeapot)
			}))
			defer s.Close()
			env := map[string]string{}
			for k, v := range c.env {
				env[k] = strings.ReplaceAll(v, "%s", s.URL)
			}
			m := open(t, world(t, strings.ReplaceAll(c.file, "%s", s.URL), env))
			model := "openai:gpt-4o"
			if strings.Contains(c.file, "openai2") {
				model = "openai2:gpt-4o"
			}
			r, one, err := m.Runtimes.Find(model)
			if err != nil {
				t.Fatal(err)
			}
			p, err := r.Prepare(t.Context(), &llm.Definition{Model: one, MaxTokens: 100}, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = r.Run(t.Context(), p, &llm.Input{Messages: []llm.Message{{Role: llm.RoleUser, Text: "Hello."}}})
			if path != c.path || strings.Contains(path, "chat") && !strings.Contains(body, `"max_tokens":100`) {
				t.Errorf("asked at %s: %s", path, body)
			}
		})
	}
	m := open(t, world(t, "runtimes: {openai: {api: chat}}", map[string]string{"OPENAI_API_KEY": "sk-1"}))
	r, one, err := m.Runtimes.Find("openai:gpt-4o")
	if err != nil || r.Capabilities(one).API != llm.APIChat {
		t.Errorf("%v: api: chat does not count", err)
	}
}

// TestExtras calls a deployment of classic Azure: its key is a header, and its version a parameter.
func TestExtras(t *testing.T) {
	var got *http.Request
	var body string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		got, body = r, string(raw)
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":{"code":"401","message":"no access with `+r.Header.Get("Api-Key")+`"}}`)
	}))
	defer s.Close()
	for kind, path := range map[string]string{"openai": "/chat/completions", "anthropic": "/v1/messages"} {
		m := open(t, world(t, "runtimes: {azure: {kind: "+kind+", base_url: '"+s.URL+"/openai/deployments/gpt', "+
			"headers: {api-key: '${AZURE_KEY}', X-Team: a}, query: {api-version: '2024-10-21'}, "+
			"extra_body: {top_k: 5, max_tokens: 7}}}", map[string]string{"AZURE_KEY": "azure-secret-1"}))
		r, one, err := m.Runtimes.Find("azure:gpt-4o")
		if err != nil {
			t.Fatal(err)
		}
		p, err := r.Prepare(t.Context(), &llm.Definition{Model: one, MaxTokens: 100}, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Run(t.Context(), p, &llm.Input{Messages: []llm.Message{{Role: llm.RoleUser, Text: "Hello."}}})
		if err == nil || strings.Contains(err.Error(), "azure-secret-1") || !strings.Contains(err.Error(), "no access") {
			t.Errorf("%s: %v", kind, err)
		}
		if got.URL.Path != "/openai/deployments/gpt"+path || got.URL.RawQuery != "api-version=2024-10-21" ||
			got.Header.Get("Api-Key") != "azure-secret-1" || got.Header.Get("X-Team") != "a" ||
			got.Header.Get("Authorization") != "" {
			t.Errorf("%s: asked at %s with %v", kind, got.URL, got.Header)
		}
		if !strings.Contains(body, `"top_k":5`) || !strings.Contains(body, `"max_tokens":7`) ||
			!strings.Contains(body, "Hello.") {
			t.Errorf("%s: asked with %s", kind, body)
		}
	}
	m := open(t, world(t, "runtimes: {azure: {kind: openai, base_url: 'http://a', headers: {api-key: '${NONE}'}}}", nil))
	if m.Missing["azure"] != "NONE is not set" {
		t.Errorf("missing: %v", m.Missing)
	}
}

// TestWrap: tools are recorded where there is a cassette.
func TestWrap(t *testing.T) {
	o := world(t, "", nil)
	if m := open(t, o); m.Wrap() != nil {
		t.Error("tools are wrapped without a cassette")
	}
	o.Replay = filepath.Join(t.TempDir(), "run.jsonl")
	if m := open(t, o); m.Wrap() == nil {
		t.Error("tools are not recorded")
	}
}
