package paramschema

// reach is what of a value the schemas under a keyword are held against.
type reach byte

const (
	nowhere reach = iota // they stand there to be referred to
	here                 // the same value
	members              // values of members
	names                // names of members
	items                // items of an array
)

// shape is how schemas stand under a keyword.
type shape byte

const (
	one shape = iota
	list
	byName
	oneOrList
)

// applicator is a keyword under which schemas stand.
type applicator struct {
	shape shape
	reach reach
	// recurs says that each part of a value is looked at once, if a schema recurs through this keyword.
	recurs bool
}

// applicators are those of all drafts. One that a draft does not know is followed all the same: it costs a little, and means nothing.
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

// switches are keywords whose true and false the library takes as part of the schema around.
var switches = map[string]bool{"additionalProperties": true, "additionalItems": true}

// counts are keywords with a count.
var counts = map[string]bool{
	"minLength": true, "maxLength": true, "minItems": true, "maxItems": true, "minProperties": true, "maxProperties": true,
	"minContains": true, "maxContains": true,
}

// unread are keywords that the library must not see: they would change what a reference means, or it trusts them to be well-formed, or, as $schema, they have
// been read.
var unread = map[string]bool{
	"$schema": true, "$id": true, "$anchor": true, "$dynamicAnchor": true, "$recursiveAnchor": true, "$vocabulary": true,
	"contentSchema": true, "regexProperties": true,
}
