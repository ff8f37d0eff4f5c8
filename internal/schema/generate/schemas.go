package generate

import (
	"maps"
	"reflect"
	"unicode"

	"github.com/invopop/jsonschema"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
)

// schemaFile returns the file with all JSON Schemas. Package schema returns them under the same
// names.
type schemaFile struct {
	Version     string                 `json:"$schema"`
	ID          string                 `json:"$id"`
	Title       string                 `json:"title"`
	Description string                 `json:"description"`
	Names       map[string]string      `json:"x-names"`
	Definitions jsonschema.Definitions `json:"$defs"`
}

func schemas(d *definitions) schemaFile {
	f := schemaFile{
		Version: jsonschema.Version, ID: "urn:parley:schema:" + parley.ProtocolVersion, Title: "Parley protocol " +
			parley.ProtocolVersion,
		Description: "Generated. What clients send is strict; in what the hub sends, let unknown members and values pass.",
		Names:       map[string]string{}, Definitions: d.schemas,
	}
	for _, t := range []any{
		parley.Event{}, parley.Message{}, parley.Trace{}, parley.System{}, parley.Snapshot{}, parley.ConversationSummary{},
		parley.Guidance{},
		parley.Participant{}, parley.Limits{}, parley.Policy{}, parley.Outcome{}, parley.Stats{}, parley.AgentInfo{},
		parley.ExecutorInfo{}, parley.TokenInfo{}, parley.Attachment{},
		parley.Session{}, parley.SessionRecord{}, parley.SessionResult{}, parley.Callbacks{},
	} {
		f.Names[lower(typeName(t))] = typeName(t)
	}
	for noun, name := range map[string]string{
		"blueprint": d.name(reflect.TypeFor[parley.Blueprint](), true), "note": d.name(reflect.TypeFor[parley.Note](), true),
		"error": "WireError", "problem": "Problem",
		"request": "Request", "reply": "Reply", "notification": "Notification",
	} {
		f.Names[noun] = name
	}
	for _, m := range d.methods {
		f.Names[m.Name+".params"] = d.name(m.Params, true)
		f.Names[m.Name+".result"] = d.name(m.Result, false)
	}
	for _, n := range notifications {
		f.Names[n.name+".notification"] = typeName(n.params)
		if name := streamed(n.name, n.params); name != "" {
			f.Names[n.name+".stream"] = name
		}
	}
	f.Names[methods.WaitForChange+".events"] = waitEvents
	maps.Copy(f.Names, lines)
	return f
}

// lower changes the first letter of a name to lower case.
func lower(name string) string {
	r := []rune(name)
	r[0] = unicode.ToLower(r[0])
	return string(r)
}
