package parley

import "encoding/json"

// ValidationError is one thing that is wrong with parameters or a result. Its keys are those of the seed (000, section 6).
type ValidationError struct {
	// Path is where in the value: $.url, $.list[0].
	Path string `json:"path"`
	// Message is one sentence.
	Message string `json:"message"`
	// SchemaPath is what of the schema refuses it: properties.url.format.
	SchemaPath string `json:"schema_path"`
}

// ValidationFailure goes with ErrParameters: all that is needed to mend the call.
type ValidationFailure struct {
	AgentName        string            `json:"agent_name"`
	ValidationErrors []ValidationError `json:"validation_errors"`
	// ParametersSchema is the whole schema.
	ParametersSchema json.RawMessage `json:"parameters_schema"`
}
