package check_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/check"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/wire"
)

func nested(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }

func TestCheckJSON(t *testing.T) {
	for name, test := range map[string]struct {
		raw     string
		outer   int
		want    error
		message string
	}{
		"empty":                {raw: ""},
		"null":                 {raw: "null"},
		"number":               {raw: "-0.0e+1"},
		"surrogate pair":       {raw: `"\ud83d\ude00"`},
		"escaped backslash":    {raw: `"\\ud800"`},
		"same name elsewhere":  {raw: `{"a":{"a":1},"b":["a","a"]}`},
		"deepest":              {raw: nested(limits.MaxDepth - 2), outer: 2},
		"too deep":             {raw: nested(limits.MaxDepth - 1), outer: 2, want: parley.ErrParse, message: "too deep"},
		"name twice":           {raw: `{"a":{"x/y":1,"x/y":2}}`, want: parley.ErrInvalidParams, message: `has "x/y" twice`},
		"name twice, escaped":  {raw: `{"a":1,"\u0061":2}`, want: parley.ErrInvalidParams, message: `has "a" twice`},
		"invalid UTF-8":        {raw: "{\"a\":\"\xff\"}", want: parley.ErrInvalidParams, message: "kept exactly"},
		"first half of a pair": {raw: `"\ud800"`, want: parley.ErrInvalidParams, message: "kept exactly"},
		"second half":          {raw: `["\ude00"]`, want: parley.ErrInvalidParams, message: "kept exactly"},
		"two values":           {raw: "1 2", want: parley.ErrInvalidParams, message: "kept exactly"},
		"incomplete":           {raw: `{"a":`, want: parley.ErrInvalidParams, message: "kept exactly"},
		"only space":           {raw: " ", want: parley.ErrInvalidParams, message: "kept exactly"},
	} {
		t.Run(name, func(t *testing.T) {
			err := check.JSON(json.RawMessage(test.raw), test.outer)
			if !errors.Is(err, test.want) || err != nil && !strings.Contains(err.Error(), test.message) {
				t.Errorf("got %v, want %v with %q", err, test.want, test.message)
			}
		})
	}
}

// FuzzCheckJSON compares CheckJSON with the transports, which read the same JSON in a request.
func FuzzCheckJSON(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"a":1,"a":2}`, `{"a":{"a":1},"b":["a","a"]}`, `{"a":1,"\u0061":2}`, "{\"a\":\"\xff\"}", `1 2`, `[`,
		`"\ud800"`, `["\ud83d\ude00", "\ude00", "\\ud800"]`, `1,2`, `{"a":"a","b":"a"}`, `-0.0e+1`, ` `,
		nested(61), nested(62), strings.Repeat(`{"a":`, 62) + "1" + strings.Repeat("}", 62),
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) == 0 {
			t.Skip("an empty value is valid, and no JSON")
		}
		err := check.JSON(raw, 3)
		wireErr := errors.New("not one value")
		if json.Valid(raw) {
			wireErr = readPayload(raw)
		}
		if (err == nil) != (wireErr == nil) {
			t.Fatalf("%q: %v, but the transports: %v", raw, err, wireErr)
		}
		if err != nil && parley.ErrorRowOf(err).Err == parley.ErrInternal {
			t.Fatalf("%q: %v", raw, err)
		}
	})
}

// readPayload reads JSON within an array, because a payload may not be null.
func readPayload(raw []byte) error {
	params := `{"conversationId":"c","payload":[` + string(raw) + `]}`
	request, err := wire.ReadRequest([]byte(`{"jsonrpc":"2.0","id":1,"method":"sendTrace","params":` + params + `}`))
	if err != nil {
		return err
	}
	return wire.Decode(request.Params, new(parley.SendTraceParams))
}
