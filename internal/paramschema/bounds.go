package paramschema

import (
	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

// Limits of a schema. Compile refuses larger ones, and skips larger patterns.
const (
	// MaxBytes limits the text of a schema.
	MaxBytes = limits.MaxAgentSchemaBytes
	// MaxSchemaDepth limits the nesting of the JSON of a schema.
	MaxSchemaDepth = 32
	// MaxSubschemas limits the subschemas of a schema, including the schema.
	MaxSubschemas = 2000
	// MaxExpanded limits the size of a schema with each $ref written out, and recursion once. Each
	// schema counts 1, and so does each value of enum and const, each name of required, and every
	// sixteenth instruction of a pattern.
	MaxExpanded = 10_000
	// MaxChain limits the schemas that apply to the same part of a value through $ref, allOf and the
	// like.
	MaxChain = 64
	// MaxSchemaNameBytes limits a name under properties, definitions and the like, and a pattern under
	// patternProperties.
	MaxSchemaNameBytes = 256
	// MaxPlaceBytes limits the path of a subschema, in URL encoding.
	MaxPlaceBytes = 2 << 10
	// MaxPatternBytes limits a pattern, and a reference.
	MaxPatternBytes = 2 << 10
	// MaxInstructions limits the program of package regexp for a pattern, and MaxAllInstructions those
	// of all patterns of a schema.
	MaxInstructions    = 256
	MaxAllInstructions = 4096
	// MaxCount limits minLength, maxItems and the like.
	MaxCount = 1 << 53
)

// Limits of a value. Fill and Validate refuse larger ones with ErrTooLarge.
const (
	// MaxValueBytes limits the text of a value.
	MaxValueBytes = 16 << 20
	// MaxNodes limits the values in a value, including the value.
	MaxNodes = 1 << 18
	// MaxSteps limits the work to check one value against one schema. A step takes about 0.1
	// microseconds. Checking an object of ten members against one schema takes about 80 steps.
	MaxSteps = 3_000_000
	// MaxFilledBytes limits the bytes that Fill adds to a value.
	MaxFilledBytes = parley.MaxFrameBytes
)

// Limits of schemas and values.
const (
	// MaxNumberBytes limits the text of a number, and MaxExponent its exponent in both directions. A
	// double has at most 324.
	MaxNumberBytes = 128
	MaxExponent    = 400
)

// MaxErrors limits the errors that Validate returns.
const MaxErrors = 32

// maxShown limits the text of a value in a message, in bytes.
const maxShown = 80

// maxDefaultSteps limits the work to fill in all nested defaults of a schema when it is compiled.
const maxDefaultSteps = 100_000
