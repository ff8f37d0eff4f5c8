// Package paramschema compiles the JSON Schemas that agents give for their parameters and results, holds values against them, and fills defaults in.
// Who writes a schema need not be trusted, nor who writes a value.
//
//	schema  -> Compile  -> Schema, or a refusal that says where in the schema
//	value   -> Fill     -> the value with the defaults of the schema
//	value   -> Validate -> what is wrong with it, in the shape of the seed
//
// # Guarantees
//
//   - Nothing outside is read: no file, no address, whatever $ref, $id and $schema say. A $ref points into the schema that has it.
//   - Compile, Fill and Validate come to an end within a second on a slow machine, for every schema and every value: what would take longer is refused. What
//     a value will cost is counted before it is held against the schema, from the same tree that the library walks.
//   - The same schema and value give the same errors in the same order.
//   - The library never panics through: what makes it panic is refused before, and a panic that is left is ErrInternal.
//   - The numbers of a value keep their text, its members their order.
//
// # What is understood
//
// Drafts 4, 6, 7, 2019-09 and 2020-12, by $schema at the root; Draft 7 without. format is asserted, as are contentEncoding base64 and contentMediaType
// application/json; a format that is not known holds for everything. contentSchema is an annotation: nothing is held against it. Patterns are those of
// package regexp, which knows no look-ahead and no back-reference; a value of format regex is one of at most 1 KiB.
//
// Refused are $dynamicRef, $recursiveRef, references by $anchor, and $id below the root (at the root it means nothing, as nothing is loaded). A schema may
// recur through properties, items, prefixItems, additionalItems, additionalProperties and $ref, where each level of a value is looked at once; recursion
// through other keywords is refused by the name of the keyword.
package paramschema
