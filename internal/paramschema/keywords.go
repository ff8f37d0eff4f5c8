package paramschema

// reach is the part of a value to which the schemas under a keyword apply.
type reach byte

const (
	nowhere reach = iota // targets of references only
	here                 // the same value
	members              // values of members
	names                // names of members
	items                // items of an array
)

// shape is the form of the schemas under a keyword.
type shape byte

const (
	one shape = iota
	list
	byName
	oneOrList
)

// applicator is a keyword with subschemas.
type applicator struct {
	shape shape
	reach reach
	// recurs means that a recursion through this keyword visits each part of a value once.
	recurs bool
}

// applicators are those of all drafts. Unknown ones of a draft are followed, too, which costs
// little and has no effect.
var applicators = map[string]applicator{
	"$defs":                 {byName, nowhere, true},
	"definitions":           {byName, nowhere, true},
	"allOf":                 {list, here, false},
	"anyOf":                 {list, here, false},
	"oneOf":                 {list, here, false},
	"not":                   {one, here, false},
	"if":                    {one, here, false},
	"then":                  {one, here, false},
	"else":                  {one, here, false},
	"dependencies":          {byName, here, false},
	"dependentSchemas":      {byName, here, false},
	"properties":            {byName, members, true},
	"patternProperties":     {byName, members, false},
	"additionalProperties":  {one, members, true},
	"unevaluatedProperties": {one, members, false},
	"propertyNames":         {one, names, false},
	"items":                 {oneOrList, items, true},
	"prefixItems":           {list, items, true},
	"additionalItems":       {one, items, true},
	"unevaluatedItems":      {one, items, false},
	"contains":              {one, items, false},
}

// switches are keywords whose booleans the library treats as part of the parent schema.
var switches = map[string]bool{"additionalProperties": true, "additionalItems": true}

// counts are keywords with a count.
var counts = map[string]bool{
	"minLength": true, "maxLength": true, "minItems": true, "maxItems": true, "minProperties": true, "maxProperties": true,
	"minContains": true, "maxContains": true,
}

// hiddenKeywords are keywords that the library must not see. They change the meaning of references,
// the library does not check their form, or, like $schema, they are already read.
var hiddenKeywords = map[string]bool{
	"$schema": true, "$id": true, "$anchor": true, "$dynamicAnchor": true, "$recursiveAnchor": true, "$vocabulary": true,
	"contentSchema": true, "regexProperties": true,
}
