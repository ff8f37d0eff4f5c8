package paramschema

import (
	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

// Bounds of a schema. Compile refuses what is beyond.
const (
	// MaxBytes bounds a schema as it is given.
	MaxBytes = limits.MaxAgentSchemaBytes
	// MaxSchemaDepth bounds how deep the JSON of a schema nests.
	MaxSchemaDepth = 32
	// MaxSubschemas bounds the schemas that a schema is made of, itself included.
	MaxSubschemas = 2000
	// MaxExpanded bounds what a schema is made of when each $ref is written out, recursion once: each schema counts 1, and so does each value of enum and
	// const, each name of required, and every sixteenth instruction of a pattern.
	MaxExpanded = 10_000
	// MaxChain bounds how many schemas, one inside the other by $ref, allOf and the like, are held against the same part of a value.
	MaxChain = 64
	// MaxSchemaNameBytes bounds a name under properties, definitions and the like, and a pattern under patternProperties.
	MaxSchemaNameBytes = 256
	// MaxPlaceBytes bounds the path to a schema within the schema, as a URL has it.
	MaxPlaceBytes = 2 << 10
	// MaxPatternBytes bounds a pattern, and a reference.
	MaxPatternBytes = 2 << 10
	// MaxInstructions bounds the program that package regexp makes of a pattern, and MaxAllInstructions those of all patterns of a schema.
	MaxInstructions    = 256
	MaxAllInstructions = 4096
	// MaxCount bounds minLength, maxItems and the like.
	MaxCount = 1 << 53
)

// Bounds of a value. Fill and Validate refuse what is beyond with ErrTooLarge.
const (
	// MaxValueBytes bounds a value as it is given.
	MaxValueBytes = 16 << 20
	// MaxNodes bounds the values that a value is made of, itself included.
	MaxNodes = 1 << 18
	// MaxSteps bounds the work of holding one value against one schema. A step is about a tenth of a microsecond; to look at an object of ten members
	// with one schema takes about 80.
	MaxSteps = 3_000_000
	// MaxFilledBytes bounds what Fill adds to a value.
	MaxFilledBytes = parley.MaxFrameBytes
)

// Bounds of both.
const (
	// MaxNumberBytes bounds the text of a number, and MaxExponent its exponent, to either side. A double has at most 324.
	MaxNumberBytes = 128
	MaxExponent    = 400
)

// MaxErrors bounds what Validate gives.
const MaxErrors = 32

// maxShown bounds the text of a value in a message, in bytes.
const maxShown = 80

// maxDefaultSteps bounds the work of filling in all defaults of a schema, one inside the other, when it is compiled.
const maxDefaultSteps = 100_000
