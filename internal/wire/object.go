package wire

import (
	"fmt"
	"unicode/utf8"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

// CheckObject checks that a text for params is one JSON object, before Decode reads it. It returns
// ErrParse for JSON that the protocol does not allow, and ErrInvalidRequest for another value. The
// nesting limit is one level less than that of a frame, because the params are inside a request.
func CheckObject(text []byte) error {
	if err := checkText(text, limits.MaxDepth-1); err != nil {
		return err
	}
	s := scanners.Get().(*scanner)
	defer scanners.Put(s)
	s.reset(text, lenient...)
	object := s.dec.PeekKind() == '{'
	if s.dec.SkipValue() != nil || s.end() != nil {
		return errNotOneValue
	}
	if !object {
		return invalid("the body is not a JSON object", "an object")
	}
	return nil
}

// checkText checks a text before it is parsed.
func checkText(text []byte, depth int) error {
	if !utf8.Valid(text) {
		return parley.Refuse(parley.ErrParse, "the text is not valid UTF-8", "")
	}
	if deeperThan(text, depth) {
		return parley.Refuse(parley.ErrParse, fmt.Sprintf("the text nests deeper than %d levels", depth), "")
	}
	return nil
}

var errNotOneValue = parley.Refuse(parley.ErrParse, "the text is not one JSON value", "")
