package check

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzIsCompact compares isCompact with encoding/json, on valid JSON.
func FuzzIsCompact(f *testing.F) {
	for _, s := range []string{`{}`, `{ }`, `"a b"`, `"\" "`, `"\\" `, `["\\\" ",1]`, "{\"a\":\t1}", `1`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var out bytes.Buffer
		if json.Compact(&out, raw) != nil {
			return
		}
		if want := bytes.Equal(out.Bytes(), raw); isCompact(raw) != want {
			t.Fatalf("%q: %t", raw, !want)
		}
	})
}
