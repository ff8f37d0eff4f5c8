package paramschema

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/parleyhub/parley"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// Validate holds a value against the schema, and gives what is wrong with it: nil when nothing is, and at most MaxErrors. Each is one cause, in the order in
// which the causes stand in the value, and for one place in the schema. Where one of several schemas would have had to fit, by anyOf or oneOf, that comes first,
// and then the causes of the one with the fewest.
//
// An error says that the value was not held against the schema: ErrTooLarge that it is beyond the bounds, ErrInvalidParams that it is not JSON.
func (s *Schema) Validate(raw json.RawMessage) (wrong []parley.ValidationError, err error) {
	defer caught(&err)
	v, err := parseValue(raw)
	if err != nil {
		return nil, err
	}
	if err := affordable(s.root, v); err != nil {
		return nil, err
	}
	err = s.library.Validate(v.plain())
	if err == nil {
		return nil, nil
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return nil, fmt.Errorf("%w: hold a value against a schema: %s", parley.ErrInternal, clip(err.Error()))
	}
	var all causes
	s.collect(v, invalid, &all)
	return all.tell(), nil
}
