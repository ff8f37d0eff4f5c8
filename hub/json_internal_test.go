package hub

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/parleyhub/parley"
)

// FuzzCheckJSON holds checkJSON against a decoder that is strict by itself.
func FuzzCheckJSON(f *testing.F) {
	for _, s := range []string{
		``, `{}`, `{"a":1,"a":2}`, `{"a":{"a":1},"b":["a","a"]}`, `{"a":1,"\u0061":2}`, "{\"a\":\"\xff\"}", `{"a":"\ud800"}`, `["\ud83d\ude00", "\ude00", "\\ud800"]`, `1 2`, `[`,
		`{"a":"a","b":"a"}`, strings.Repeat("[", 62) + strings.Repeat("]", 62), strings.Repeat(`{"a":`, 63) + "1" + strings.Repeat("}", 63), `-0.0e+1`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) == 0 {
			if err := checkJSON(raw, 2); err != nil {
				t.Fatal(err)
			}
			return
		}
		err := checkJSON(raw, 2)
		want := strict(raw)
		if (err == nil) != want {
			t.Fatalf("%q: %v, want %t", raw, err, want)
		}
		if err != nil && parley.ErrorRowOf(err).Err == parley.ErrInternal {
			t.Fatalf("%q: %v", raw, err)
		}
	})
}

func strict(raw []byte) bool {
	if !json.Valid(raw) {
		return false // more than one value, for one
	}
	dec := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowInvalidUTF8(false))
	for {
		_, err := dec.ReadToken()
		if err != nil {
			return err == io.EOF
		}
		if dec.StackDepth() > parley.MaxDepth-2 {
			return false
		}
	}
}
