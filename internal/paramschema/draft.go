package paramschema

import (
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// draft is a version of JSON Schema.
type draft struct {
	library *jsonschema.Draft
	// id is its keyword for the address of a schema.
	id string
	// refAlone says that $ref makes what stands beside it meaningless.
	refAlone bool
}

// drafts are those that the library has built in, by $schema without scheme and "#".
var drafts = map[string]draft{
	"json-schema.org/draft-04/schema":      {jsonschema.Draft4, "id", true},
	"json-schema.org/draft-06/schema":      {jsonschema.Draft6, "$id", true},
	"json-schema.org/draft-07/schema":      draft7,
	"json-schema.org/draft/2019-09/schema": {jsonschema.Draft2019, "$id", false},
	"json-schema.org/draft/2020-12/schema": {jsonschema.Draft2020, "$id", false},
}

var draft7 = draft{jsonschema.Draft7, "$id", true}

const expectedDraft = `none, or "http://json-schema.org/draft-07/schema#" or that of draft 4, 6, 2019-09 or 2020-12`

// draftOf reads $schema.
func draftOf(root *value) (draft, error) {
	v := root.get("$schema")
	if v == nil {
		return draft7, nil
	}
	d, ok := named(v)
	if !ok {
		return draft{}, refuse([]string{"$schema"}, show(v)+" is no version that is known", expectedDraft)
	}
	return d, nil
}

// named finds the draft that a value of $schema names.
func named(v *value) (draft, bool) {
	if v.kind != text {
		return draft{}, false
	}
	name := strings.TrimSuffix(v.string(), "#")
	name = strings.TrimPrefix(strings.TrimPrefix(name, "https://"), "http://")
	d, ok := drafts[name]
	return d, ok
}

// sameDraft refuses a schema that says to be of another version than the schema around it.
func (g *graph) sameDraft(n *node, v *value) error {
	if d, ok := named(v); !ok || d != g.draft {
		return refuse(n.at("$schema"), show(v)+" is not the version of the whole schema", "$schema at the root only")
	}
	return nil
}
