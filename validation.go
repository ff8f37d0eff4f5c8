package parley

import "encoding/json"

// ValidationError is an error in parameters or in a result. Its keys are those of the seed (000,
// section 6).
type ValidationError struct {
	// Path is the place in the value, such as $.url or $.list[0].
	Path string `json:"path"`
	// Message is one sentence.
	Message string `json:"message"`
	// SchemaPath is the keyword of the schema that the value violates, such as properties.url.format.
	SchemaPath string `json:"schema_path"`
}

// ValidationFailure is present with ErrParameters. It has what is needed to correct the call.
type ValidationFailure struct {
	AgentName        string            `json:"agent_name"`
	ValidationErrors []ValidationError `json:"validation_errors"`
	// ParametersSchema is the whole schema.
	ParametersSchema json.RawMessage `json:"parameters_schema"`
}
