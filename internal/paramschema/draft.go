package paramschema

import (
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// draft is a version of JSON Schema.
type draft struct {
	library *jsonschema.Draft
	// id is its keyword for the id of a schema.
	id string
	// refAlone means that $ref disables its sibling keywords.
	refAlone bool
}

// drafts are the versions of the library, by $schema without scheme and "#".
var drafts = map[string]draft{
	"json-schema.org/draft-04/schema":      {jsonschema.Draft4, "id", true},
	"json-schema.org/draft-06/schema":      {jsonschema.Draft6, "$id", true},
	"json-schema.org/draft-07/schema":      draft7,
	"json-schema.org/draft/2019-09/schema": {jsonschema.Draft2019, "$id", false},
	"json-schema.org/draft/2020-12/schema": {jsonschema.Draft2020, "$id", false},
}

var draft7 = draft{jsonschema.Draft7, "$id", true}

const expectedDraft = `none, or "http://json-schema.org/draft-07/schema#" or that of draft 4, 6, 2019-09 or 2020-12`

// draftOf returns the draft in $schema.
func draftOf(root *value) (draft, error) {
	v := root.get("$schema")
	if v == nil {
		return draft7, nil
	}
	d, ok := draftByName(v)
	if !ok {
		return draft{}, refuse([]string{"$schema"}, show(v)+" is no version that is known", expectedDraft)
	}
	return d, nil
}

// draftByName returns the draft that a value of $schema names.
func draftByName(v *value) (draft, bool) {
	if v.kind != text {
		return draft{}, false
	}
	name := strings.TrimSuffix(v.string(), "#")
	name = strings.TrimPrefix(strings.TrimPrefix(name, "https://"), "http://")
	d, ok := drafts[name]
	return d, ok
}

// sameDraft refuses a subschema that declares another version than its parent.
func (g *graph) sameDraft(n *node, v *value) error {
	if d, ok := draftByName(v); !ok || d != g.draft {
		return refuse(n.pathTo("$schema"), show(v)+" is not the version of the whole schema", "$schema at the root only")
	}
	return nil
}
