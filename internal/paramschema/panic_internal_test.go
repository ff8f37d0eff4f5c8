package paramschema

// An internal test, because no schema or value is known that makes the library panic.

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/parleyhub/parley"
)

func TestPanicBecomesError(t *testing.T) {
	s := &Schema{root: &node{doc: &value{}}} // without the compiled schema of the library
	wrong, err := s.Validate(json.RawMessage(`1`))
	if !errors.Is(err, parley.ErrInternal) || wrong != nil {
		t.Errorf("%v, %v", wrong, err)
	}
}
