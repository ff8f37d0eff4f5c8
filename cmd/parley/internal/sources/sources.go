// Package sources reads the file of external sources: hooks, which receive HTTP requests, and a
// timetable. Both post notes.
//
// The file is YAML or JSON. One table defines its members; [Parse] and the JSON Schema are derived
// from it. [Load] accepts a file as a whole, or refuses it with every fault found, each with its
// position. The file has no secrets; it names environment variables and files.
package sources

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/adapters/hooks"
	"github.com/parleyhub/parley/adapters/timetable"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/shape"
	"github.com/parleyhub/parley/internal/yamlfile"
)

// File is the content of a sources file.
type File struct {
	Hooks     []Hook  `json:"hooks"`
	Timetable []Entry `json:"timetable"`
}

// Note has the conversation, the author and the labels of the notes of one source.
type Note struct {
	Name         string   `json:"name"`
	Conversation string   `json:"conversation"`
	AgentID      string   `json:"agent_id"`
	Schema       string   `json:"schema"`
	Tags         []string `json:"tags"`
}

// Hook is one URL that receives deliveries. Its secrets are in environment variables, or in a file
// whose path is relative to the directory of the sources file.
type Hook struct {
	Note
	Scheme      hooks.Scheme `json:"scheme"`
	SecretsEnv  []string     `json:"secrets_env"`
	SecretsFile string       `json:"secrets_file"`
	// Secrets are the values found in the environment and in the file.
	Secrets []string `json:"-"`
}

// Entry is one line of the timetable.
type Entry struct {
	Note
	Cron     string          `json:"cron"`
	Timezone string          `json:"timezone"`
	CatchUp  string          `json:"catch_up"`
	Data     json.RawMessage `json:"data"`
	// Late is the parsed CatchUp.
	Late time.Duration `json:"-"`
}

// The bounds of a file.
const (
	maxSources     = 256
	maxSecrets     = 8
	maxSecretsFile = 4 << 10
	maxData        = 256 << 10
)

var root = &shape.Shape{Kind: shape.Object, Members: []shape.Member{
	shape.May("hooks", shape.ListOf("places to which others send by POST /hooks/NAME, signed in the way of its scheme; the body is the data of a note", 1, maxSources, hook)),
	shape.May("timetable", shape.ListOf("times at which notes are posted", 1, maxSources, entry)),
}}

// noteMembers returns the members that hooks and timetable entries share, followed by more.
func noteMembers(name string, more ...shape.Member) []shape.Member {
	return append([]shape.Member{
		shape.Must("name", shape.ID(name)),
		shape.Must("conversation", conversation),
		shape.Must("agent_id", shape.ID("the participant of the conversation who posts, such as one of kind peer")),
		shape.Must("schema", shape.Line("the schema of the notes, such as order.created.v1", limits.MaxTagBytes)),
		shape.May("tags", shape.ListOf("the tags of the notes", 0, limits.MaxTags, shape.Line("a tag", limits.MaxTagBytes))),
	}, more...)
}

var conversation = &shape.Shape{Kind: shape.Text, Doc: "the id of the conversation that gets the notes", Pattern: regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`),
	Expected: "the id of a conversation: 1 to 64 of A-Z a-z 0-9 _ -"}

var hook = &shape.Shape{Kind: shape.Object, Doc: "a place to which others send", Members: noteMembers("its place in URLs: /hooks/NAME",
	shape.May("scheme", shape.Among("how deliveries are signed; absent, standard (Standard Webhooks and Svix)", hooks.Schemes...)),
	shape.May("secrets_env", shape.ListOf("variables of the environment, each with a secret; several during a rotation. "+
		"The scheme standard requires whsec_ and 24 to 64 bytes in base64", 1, maxSecrets, variable)),
	shape.May("secrets_file", shape.Line("file with a secret on each line, from the directory of this file on; one of the two is needed", 4096)),
)}

var variable = &shape.Shape{Kind: shape.Text, Doc: "the name of a variable", Pattern: regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`),
	Expected: "the name of a variable: letters, digits and _"}

var entry = &shape.Shape{Kind: shape.Object, Doc: "times at which a note is posted", Members: noteMembers("its id, which is part of the keys of its notes",
	shape.Must("cron", shape.Line("the times: minute, hour, day of month, month and day of week, such as \"30 7 * * mon-fri\", or @hourly, @daily, @weekly, @monthly, @yearly", 256)),
	shape.May("timezone", shape.Line("the time zone of the times, such as Europe/Berlin; absent, UTC", 64)),
	shape.May("catch_up", duration),
	shape.May("data", shape.Any("the data of the notes; absent, {\"due\": the time}", maxData)),
)}

var duration = &shape.Shape{Kind: shape.Text, Doc: "how late a due time may still be posted that was missed, such as 6h: only the last one is; absent, none",
	Pattern: regexp.MustCompile(`^([0-9]{1,5}[hms])+$`), Expected: "a time such as 6h or 90m"}

const expected = `expected sources, such as "hooks: [{name: orders, conversation: shop, agent_id: orders, schema: order.created.v1, secrets_env: [ORDERS_SECRET]}]"`

// Options are for Load.
type Options struct {
	// Getenv looks up a variable, as os.LookupEnv does.
	Getenv func(name string) (string, bool)
}

// Load reads a file and the secrets that it names. The error is a yamlfile.Findings, or the error
// of reading the file. It never quotes a secret.
func Load(path string, o *Options) (*File, error) {
	text, err := yamlfile.Read(path)
	if err != nil {
		return nil, err
	}
	return Parse(path, text, o)
}

// Parse reads the text of a file. Faults quote name as the file, and paths are relative to its
// directory.
func Parse(name string, text []byte, o *Options) (*File, error) {
	r := &shape.Reader{File: name, Expected: expected}
	n, faults := yamlfile.Parse(text)
	f := &File{}
	if taken := r.Read(root, n, faults); taken != nil {
		if err := json.Unmarshal(taken, f); err != nil {
			panic(fmt.Sprintf("the table of sources does not fit its types: %v", err)) // a test compares them
		}
		f.checkSources(r, filepath.Dir(name), o)
	}
	if len(r.Findings) > 0 {
		r.Findings.Sort()
		return nil, r.Findings
	}
	return f, nil
}

// checkSources reports contradictions between the members of the file, and reads the secrets.
func (f *File) checkSources(r *shape.Reader, dir string, o *Options) {
	if len(f.Hooks)+len(f.Timetable) == 0 && len(r.Findings) == 0 {
		r.At("", "expected hooks or timetable")
	}
	hooksAt, entriesAt := map[string]int{}, map[string]int{}
	for i := range f.Hooks {
		h, path := &f.Hooks[i], fmt.Sprintf("hooks[%d]", i)
		checkUnique(r, hooksAt, h.Name, "hooks", i)
		h.Note.check(r, path)
		h.readAllSecrets(r, path, dir, o)
	}
	for i := range f.Timetable {
		e, path := &f.Timetable[i], fmt.Sprintf("timetable[%d]", i)
		checkUnique(r, entriesAt, e.Name, "timetable", i)
		e.Note.check(r, path)
		e.check(r, path)
	}
}

// check refuses the hub as an author.
func (n *Note) check(r *shape.Reader, path string) {
	if n.AgentID == parley.HubID {
		r.At(path+".agent_id", "expected another id: hub is the hub itself")
	}
}

// checkUnique reports a name that an earlier entry of the list has.
func checkUnique(r *shape.Reader, at map[string]int, name, list string, i int) {
	if first, twice := at[name]; twice && name != "" {
		r.At(fmt.Sprintf("%s[%d].name", list, i), fmt.Sprintf("it is the name of %s[%d] already", list, first))
		return
	}
	at[name] = i
}

// readAllSecrets reads the secrets of a hook from the environment and from its file.
func (h *Hook) readAllSecrets(r *shape.Reader, path, dir string, o *Options) {
	if len(h.SecretsEnv) == 0 && h.SecretsFile == "" {
		if !r.Faulty(path) {
			r.At(path, "expected secrets_env or secrets_file")
		}
		return
	}
	for i, name := range h.SecretsEnv {
		at := fmt.Sprintf("%s.secrets_env[%d]", path, i)
		secret, ok := o.Getenv(name)
		switch {
		case name == "": // it could not be read
		case !ok:
			r.At(at, fmt.Sprintf("there is no variable %s in the environment", name))
		default:
			h.addSecret(r, at, name, secret)
		}
	}
	if h.SecretsFile != "" {
		h.readSecrets(r, path+".secrets_file", dir)
	}
}

// readSecrets reads the secrets of a file, one per line. It skips empty lines and lines that begin
// with #.
func (h *Hook) readSecrets(r *shape.Reader, path, dir string) {
	name := h.SecretsFile
	if !filepath.IsAbs(name) {
		name = filepath.Join(dir, name)
	}
	info, err := os.Stat(name)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxSecretsFile) {
		r.At(path, fmt.Sprintf("expected a file of at most %d bytes", maxSecretsFile))
		return
	}
	text, err := os.ReadFile(name)
	if err != nil {
		r.At(path, err.Error())
		return
	}
	before := len(h.Secrets)
	for i, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "#") {
			h.addSecret(r, path, fmt.Sprintf("line %d of it", i+1), line)
		}
	}
	if len(h.Secrets) == before && !r.Faulty(path) {
		r.At(path, "there is no secret in it")
	}
}

// addSecret adds a secret, or reports at path that it is invalid. where names its variable or line.
func (h *Hook) addSecret(r *shape.Reader, path, where, secret string) {
	if err := hooks.CheckSecret(h.Scheme, strings.TrimSpace(secret)); err != nil {
		r.At(path, where+": "+err.Error())
		return
	}
	h.Secrets = append(h.Secrets, strings.TrimSpace(secret))
}

// check checks the times of an entry, and parses CatchUp.
func (e *Entry) check(r *shape.Reader, path string) {
	if e.Cron != "" {
		if err := timetable.CheckCron(e.Cron); err != nil {
			r.At(path+".cron", err.Error())
		}
	}
	if err := timetable.CheckTimezone(e.Timezone); err != nil {
		r.At(path+".timezone", err.Error())
	}
	if e.CatchUp == "" {
		return
	}
	late, err := time.ParseDuration(e.CatchUp)
	if err != nil || late > timetable.MaxCatchUp {
		r.At(path+".catch_up", fmt.Sprintf("expected at most %s", timetable.MaxCatchUp))
		return
	}
	e.Late = late
}

// Schema returns the JSON Schema (draft 7) of the file. It is published as
// docs/sources.schema.json.
func Schema() []byte {
	o := root.Schema()
	o["title"] = "Parley sources"
	o["description"] = "The file of parley serve --sources: hooks and a timetable, which post notes."
	return yamlfile.EncodeSchema(o)
}
