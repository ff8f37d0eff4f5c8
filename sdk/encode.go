package sdk

import (
	"bytes"
	"encoding/json"
	"reflect"
	"unicode/utf8"

	"github.com/parleyhub/parley"
)

// encode returns params as JSON, without HTML escapes and with raw members compacted. It refuses
// strings that are not UTF-8: JSON cannot represent them, and encoding/json would change them.
func encode(params any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(params); err != nil {
		return nil, parley.Refuse(parley.ErrInvalidParams, err.Error(), "values that encode to JSON")
	}
	body := bytes.TrimSuffix(buf.Bytes(), []byte{'\n'})
	if bytes.Contains(body, replaced) && !isUTF8(reflect.ValueOf(params)) {
		return nil, parley.Refuse(parley.ErrInvalidParams, "a string is not UTF-8", "UTF-8")
	}
	return body, nil
}

// replaced is the replacement of encoding/json for invalid UTF-8. Raw members can have it too, so
// it is only a reason to check.
var replaced = []byte(`\ufffd`)

// isUTF8 reports whether all strings in v are UTF-8. It ignores bytes, including raw members.
func isUTF8(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.String:
		return utf8.ValidString(v.String())
	case reflect.Pointer, reflect.Interface:
		return v.IsNil() || isUTF8(v.Elem())
	case reflect.Struct:
		for _, field := range v.Fields() {
			if !isUTF8(field) {
				return false
			}
		}
	case reflect.Map:
		for key, element := range v.Seq2() {
			if !isUTF8(key) || !isUTF8(element) {
				return false
			}
		}
	case reflect.Slice, reflect.Array:
		for i := range v.Len() {
			if !isUTF8(v.Index(i)) {
				return false
			}
		}
	}
	return true
}
