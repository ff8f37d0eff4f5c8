package generate

import (
	"strings"

	"github.com/invopop/jsonschema"

	"github.com/parleyhub/parley/internal/limits"
)

// cut splits "Event.seq".
func cut(name string) (schema, property string) {
	schema, property, _ = strings.Cut(name, ".")
	return schema, property
}

// members returns the schema of an object. The prefix "?" marks an optional member.
func members(pairs ...any) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties()}
	for i := 0; i < len(pairs); i += 2 {
		name, optional := strings.CutPrefix(pairs[i].(string), "?")
		s.Properties.Set(name, pairs[i+1].(*jsonschema.Schema))
		if !optional {
			s.Required = append(s.Required, name)
		}
	}
	return s
}

func version() *jsonschema.Schema { return &jsonschema.Schema{Const: "2.0"} }

// id is the id of a request. A string with its quotes has at most MaxIDBytes.
func id() *jsonschema.Schema {
	return &jsonschema.Schema{
		Description: "Comes back as it was written. At most 128 bytes as written.",
		AnyOf:       []*jsonschema.Schema{{Type: "string", MaxLength: size(limits.MaxIDBytes - 2)}, {Type: "integer"}},
	}
}

// replyID is null if the id of the request could not be read.
func replyID() *jsonschema.Schema {
	s := id()
	s.AnyOf = append(s.AnyOf, &jsonschema.Schema{Type: "null"})
	return s
}

// addFrames adds the schemas of whole frames.
func (d *definitions) addFrames() {
	methods := &jsonschema.Schema{Type: "string"}
	request := members("jsonrpc", version(), "id", id(), "method", methods, "?params", &jsonschema.Schema{Type: "object"})
	request.Description = "What a client sends: a text frame, or the body of POST /rpc."
	request.AdditionalProperties = jsonschema.FalseSchema
	for _, m := range d.methods {
		methods.Enum = append(methods.Enum, m.Name)
		then := members("?params", ref(d.name(m.Params, true)))
		then.Type = ""
		if len(d.schemas[d.name(m.Params, true)].Required) > 0 {
			then.Required = []string{"params"}
		}
		request.AllOf = append(request.AllOf, when("method", m.Name, then))
	}
	d.schemas["Request"] = request

	success := members("jsonrpc", version(), "id", id(), "result", &jsonschema.Schema{Type: "object"})
	failure := members("jsonrpc", version(), "id", replyID(), "error", ref("WireError"))
	success.Not = &jsonschema.Schema{Required: []string{"error"}}
	failure.Not = &jsonschema.Schema{Required: []string{"result"}}
	d.schemas["Reply"] = &jsonschema.Schema{
		Description: "What the hub answers. What result is depends on the method.", OneOf: []*jsonschema.Schema{success,
			failure},
	}

	notification := members("jsonrpc", version(), "method", &jsonschema.Schema{Type: "string"}, "params",
		&jsonschema.Schema{Type: "object"})
	notification.Description = "What the hub sends by itself. Let unknown methods pass."
	notification.Not = &jsonschema.Schema{Required: []string{"id"}}
	for _, n := range notifications {
		then := members("?params", ref(typeName(n.params)))
		then.Type = ""
		notification.AllOf = append(notification.AllOf, when("method", n.name, then))
	}
	d.schemas["Notification"] = notification
}
