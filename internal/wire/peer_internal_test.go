package wire

// These tests are internal, because the form of frames is not visible outside.

import (
	"errors"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

// Requests that the hub could not answer are refused before they are sent.
func TestRequestFrame(t *testing.T) {
	nested := func(n int) string { return strings.Repeat(`{"a":`, n) + `"]}\"["` + strings.Repeat("}", n) }
	for _, c := range []struct {
		name, body string
		want       error
	}{
		{"empty", `{}`, nil},
		{"as deep as may be", nested(limits.MaxDepth - 1), nil},
		{"too deep", nested(limits.MaxDepth), parley.ErrParse},
		{"not UTF-8", "{\"a\":\"\xff\"}", parley.ErrParse},
		{"too large", `{"a":"` + strings.Repeat("x", parley.MaxFrameBytes) + `"}`, parley.ErrTooLarge},
	} {
		frame, err := requestFrame(7, "ping", []byte(c.body))
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, expected %v", c.name, err, c.want)
		}
		if want := `{"jsonrpc":"2.0","id":7,"method":"ping","params":` + c.body + `}`; err == nil && string(frame) != want {
			t.Errorf("%s: the frame is %s", c.name, frame)
		}
	}
}

// Responses and notifications are distinguished in any order of their members.
func TestNotification(t *testing.T) {
	for frame, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"result":{"method":"event"}}`:        "",
		`{"result":{"method":"event"},"id":1,"jsonrpc":"2.0"}`:        "",
		`{"jsonrpc":"2.0","method":"event","params":{"b":1,"a":"<"}}`: "event",
		`{"params":{"b":1,"a":"<"},"method":"event","jsonrpc":"2.0"}`: "event",
	} {
		method, params, err := notification([]byte(frame))
		if err != nil || method != want {
			t.Errorf("%s is %q, %v", frame, method, err)
		}
		if method != "" && string(params) != `{"b":1,"a":"<"}` {
			t.Errorf("%s has params %s", frame, params)
		}
	}
}
