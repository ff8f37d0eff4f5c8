// Package paramschema compiles the JSON Schemas of agents for their parameters and results,
// validates values, and fills in defaults. Neither the schema nor the value needs to be trusted.
//
//	schema -> Compile   -> Schema with Warnings, or an error with the place in the schema
//	value  -> DropNulls -> the value without null for optional members that do not accept it
//	value  -> Fill      -> the value with the defaults of the schema
//	value  -> Validate  -> validation errors in the form of the seed
//
// # Guarantees
//
//   - No file and no address is read, whatever $ref, $id and $schema contain. A $ref points into
//     its own schema.
//   - Compile, Fill and Validate end within a second on a slow machine, for every schema and value;
//     anything slower is refused. The cost of a value is counted before its validation, on the tree
//     that the library visits.
//   - The same schema and value have the same errors in the same order.
//   - The library never panics through. Known causes are refused before, and any other panic is
//     ErrInternal.
//   - Values keep the text of their numbers and the order of their members.
//
// # Supported keywords
//
// Drafts 4, 6, 7, 2019-09 and 2020-12, by $schema at the root; Draft 7 without $schema. format,
// contentEncoding base64 and contentMediaType application/json are asserted. An unknown format
// accepts every value. contentSchema is only an annotation. A value of format regex has at most 1
// KiB.
//
// Patterns are those of package regexp, without look-ahead and back-references. Another pattern is
// not checked, and neither is a keyword that would refuse more values without it: not, if, and
// additionalProperties beside such a name of patternProperties. oneOf then counts as anyOf.
// [Schema.Warnings] reports such patterns.
//
// $dynamicRef, $recursiveRef, references by $anchor, and $id below the root are refused. At the
// root, $id has no effect, because nothing is loaded. A schema may recur through properties, items,
// prefixItems, additionalItems, additionalProperties and $ref, where each level of a value is
// visited once. Recursion through other keywords is refused with the name of the keyword.
package paramschema
