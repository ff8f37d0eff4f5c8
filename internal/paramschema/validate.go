package paramschema

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// Validate validates a value and returns at most MaxErrors errors, or nil. Each has one cause. They
// are ordered by their position in the value, then in the schema. If one of several schemas must
// fit, by anyOf or oneOf, that error comes first, then the causes for the schema with the fewest.
//
// It returns an error if the value was not validated: ErrTooLarge if it exceeds the limits,
// ErrInvalidParams if it is not JSON.
func (s *Schema) Validate(raw json.RawMessage) (wrong []parley.ValidationError, err error) {
	defer recoverPanic(&err)
	v, err := parseValue(raw)
	if err != nil {
		return nil, err
	}
	if err := checkSteps(s.root, v); err != nil {
		return nil, err
	}
	return s.validate(v)
}

// validate validates a value whose cost is known.
func (s *Schema) validate(v *value) ([]parley.ValidationError, error) {
	err := s.library.Validate(v.plain())
	if err == nil {
		return nil, nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return nil, fmt.Errorf("%w: hold a value against a schema: %s", parley.ErrInternal, clip(err.Error()))
	}
	var all causes
	s.collect(v, invalid, &all)
	return all.validationErrors(), nil
}
