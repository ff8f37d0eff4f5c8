package wire_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/wire"
)

func TestCheckObject(t *testing.T) {
	deep := func(n int) string { return strings.Repeat(`{"a":`, n-1) + "{}" + strings.Repeat("}", n-1) }
	for _, text := range []string{`{}`, " {\"a\":1}\n", deep(limits.MaxDepth - 1), `{"a":1,"a":2}`, `{"a":"\ud800"}`} {
		if err := wire.CheckObject([]byte(text)); err != nil {
			t.Errorf("%.40q: %v", text, err)
		}
	}
	for text, want := range map[string]error{
		"": parley.ErrParse, " ": parley.ErrParse, "{": parley.ErrParse, "{}{}": parley.ErrParse, "{} x": parley.ErrParse,
		`{"a":NaN}`:        parley.ErrParse,
		"{\"a\":\"\xff\"}": parley.ErrParse, "\ufeff{}": parley.ErrParse, "{'a':1}": parley.ErrParse,
		"{\"a\":\"\x00\"}":    parley.ErrParse,
		deep(limits.MaxDepth): parley.ErrParse, strings.Repeat("[", 1<<20): parley.ErrParse,
		"[]": parley.ErrInvalidRequest, `[{"a":1}]`: parley.ErrInvalidRequest, `"a"`: parley.ErrInvalidRequest,
		"1": parley.ErrInvalidRequest, "null": parley.ErrInvalidRequest,
	} {
		if err := wire.CheckObject([]byte(text)); !errors.Is(err, want) {
			t.Errorf("%.40q: %v, want %v", text, err, want)
		}
	}
}
