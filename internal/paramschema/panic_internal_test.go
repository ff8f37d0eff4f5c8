package paramschema

// From inside: no schema and no value is known that makes the library panic.

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/parleyhub/parley"
)

func TestAPanicIsAnError(t *testing.T) {
	s := &Schema{root: &node{doc: &value{}}} // without what the library has compiled
	wrong, err := s.Validate(json.RawMessage(`1`))
	if !errors.Is(err, parley.ErrInternal) || wrong != nil {
		t.Errorf("%v, %v", wrong, err)
	}
}
