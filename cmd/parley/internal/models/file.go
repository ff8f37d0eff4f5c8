// Package models provides the runtimes of the LLM agents of this program: the vendors whose keys
// are in the environment, the runtimes of a models file, scripts, and a cassette around all of
// them.
//
// The file is YAML or JSON. One table defines its members; [Parse] and the JSON Schema are derived
// from it. [Load] accepts a file as a whole, or refuses it with every fault found, each with its
// position. The file has no keys; it names environment variables.
package models

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/parleyhub/parley/executors/llm"
	"github.com/parleyhub/parley/internal/shape"
	"github.com/parleyhub/parley/internal/yamlfile"
)

// File is a models file. It adds runtimes to those of the environment, and describes models.
type File struct {
	Runtimes map[string]Runtime `json:"runtimes"`
}

// Runtime is a model server, or a built-in runtime whose settings it changes.
type Runtime struct {
	// Kind selects the API of the server: KindOpenAI or KindAnthropic.
	Kind    string  `json:"kind"`
	BaseURL string  `json:"base_url"`
	KeyEnv  string  `json:"key_env"`
	API     llm.API `json:"api"`
	// Headers, Query and ExtraBody are added to each call.
	Headers   map[string]string          `json:"headers"`
	Query     map[string]string          `json:"query"`
	ExtraBody map[string]json.RawMessage `json:"extra_body"`
	// Rows is the JSON of a list of llm.ModelRow. Models is the parsed form.
	Rows   json.RawMessage `json:"models"`
	Models llm.Models      `json:"-"`
}

// The kinds. They are also the names of the runtimes that the environment configures. scripted is
// the third built-in runtime.
const (
	KindOpenAI    = "openai"
	KindAnthropic = "anthropic"
	kindScripted  = "scripted"
)

const (
	maxRuntimes = 32
	maxRows     = 256 << 10
	maxExtras   = 32
)

var root = &shape.Shape{Kind: shape.Object, Members: []shape.Member{
	shape.Must("runtimes", shape.MapOf("runtimes by the name before the colon of a model, such as ollama",
		maxRuntimes, runtime)),
}}

var runtime = &shape.Shape{Kind: shape.Object, Doc: "a server of models; openai, anthropic and scripted are there " +
	"without it", Members: []shape.Member{
	shape.May("kind", shape.Among("whose API it speaks; absent for openai, anthropic and scripted", KindOpenAI,
		KindAnthropic)),
	shape.May("base_url", shape.Line("where it is, such as http://127.0.0.1:11434/v1; absent, the vendor's", 2048)),
	shape.May("key_env", &shape.Shape{Kind: shape.Text, Doc: "the variable of the environment that has its key; absent, " +
		"that of the vendor, and none for others",
		Pattern:  regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`),
		Expected: "the name of a variable: letters, digits and _"}),
	shape.May("api", shape.Among("how a server of kind openai is asked; absent, responses of OpenAI's own and chat of "+
		"others", llm.APIResponses, llm.APIChat)),
	shape.May("headers", shape.MapOf("headers of each call, with ${NAME} for variables of the environment", maxExtras,
		shape.Line("the value", 2048))),
	shape.May("query", shape.MapOf("parameters of the URL of each call, with ${NAME} for variables of the environment",
		maxExtras, shape.Line("the value", 2048))),
	shape.May("extra_body", shape.Open("members that replace those of each request", maxRows)),
	shape.May("models", shape.Any("what its models are like, besides what is known: rows of prefix, context_window, "+
		"max_output_tokens, price {input, output} in US dollars for a million tokens, no_tools, ...", maxRows)),
}}

const expected = `expected models, such as "runtimes: {ollama: {kind: openai, base_url: http://127.0.0.1:11434/v1}}"`

var runtimeName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// Load reads a file. The error is a yamlfile.Findings, or the error of reading the file.
func Load(path string) (*File, error) {
	text, err := yamlfile.Read(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, text)
}

// Parse reads the text of a file. Faults quote name as the file.
func Parse(name string, text []byte) (*File, error) {
	r := &shape.Reader{File: name, Expected: expected}
	parse := yamlfile.Parse
	if strings.HasSuffix(strings.ToLower(name), ".json") {
		parse = yamlfile.ParseJSON
	}
	n, faults := parse(text)
	f := &File{}
	if taken := r.Read(root, n, faults); taken != nil {
		if err := json.Unmarshal(taken, f); err != nil {
			panic(fmt.Sprintf("the table of models does not fit its types: %v", err)) // a test compares them
		}
		for _, name := range slices.Sorted(maps.Keys(f.Runtimes)) {
			one := f.Runtimes[name]
			one.check(r, name)
			f.Runtimes[name] = one
		}
	}
	if len(r.Findings) > 0 {
		r.Findings.Sort()
		return nil, r.Findings
	}
	return f, nil
}

// check reports contradictions between the members of a runtime, and reads the rows.
func (o *Runtime) check(r *shape.Reader, name string) {
	path := "runtimes." + yamlfile.Brief(name)
	builtIn := name == KindOpenAI || name == KindAnthropic
	switch {
	case !runtimeName.MatchString(name):
		r.At(path, "expected a name of 1 to 32 of a-z 0-9 _ -, which begins with a letter")
	case name == kindScripted && (o.Kind != "" || o.BaseURL != "" || o.KeyEnv != "" || o.API != "" || o.Headers != nil ||
		o.Query != nil || o.ExtraBody != nil):
		r.At(path, "expected models alone: scripted answers from files")
	case builtIn && o.Kind != "" && o.Kind != name:
		r.At(path+".kind", "expected "+name+", or nothing: it is what its name says")
	case !builtIn && name != kindScripted && o.Kind == "" && !r.Faulty(path+".kind"):
		r.At(path, "kind is missing: expected "+KindOpenAI+" or "+KindAnthropic)
	case !builtIn && name != kindScripted && o.BaseURL == "" && !r.Faulty(path+".base_url"):
		r.At(path, "base_url is missing")
	}
	if o.kind(name) == KindAnthropic && o.API != "" {
		r.At(path+".api", "expected nothing: it is for kind openai")
	}
	if u, err := url.Parse(o.BaseURL); o.BaseURL != "" && (err != nil || u.Host == "" || u.Scheme != "https" &&
		u.Scheme != "http" || u.User != nil) {
		r.At(path+".base_url", "expected an address that begins with https:// or http://, without a name or a password")
	}
	o.readRows(r, path+".models")
}

// readRows reads the rows, and reports the first fault at its position.
func (o *Runtime) readRows(r *shape.Reader, path string) {
	if len(o.Rows) == 0 {
		return
	}
	var err error
	if o.Models, err = llm.LoadModels(o.Rows); err == nil {
		return
	}
	at := path
	what := err.Error()
	if where, rest, ok := strings.Cut(what, ": "); ok {
		if place := path + strings.TrimPrefix(where, "models"); strings.HasPrefix(where, "models[") && r.Has(place) {
			at, what = place, rest
		}
	}
	r.At(at, what)
}

// kind returns Kind, or the kind of a built-in name.
func (o *Runtime) kind(name string) string {
	if o.Kind == "" && (name == KindOpenAI || name == KindAnthropic || name == kindScripted) {
		return name
	}
	return o.Kind
}

// Schema returns the JSON Schema (draft 7) of the file. It is published as docs/models.schema.json.
func Schema() []byte {
	o := root.Schema()
	o["title"] = "Parley models"
	o["description"] = "The file of --models: servers of models, and what models are like."
	return yamlfile.EncodeSchema(o)
}

// Faults returns the lines of an error of Load.
func Faults(err error) []string {
	var findings yamlfile.Findings
	if !errors.As(err, &findings) {
		return []string{err.Error()}
	}
	lines := make([]string, len(findings))
	for i, f := range findings {
		lines[i] = f.String()
	}
	return lines
}
