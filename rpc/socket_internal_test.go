package rpc

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/internal/wire"
	"github.com/parleyhub/parley/rpc/internal/calls"
)

// TestReadCallFast: readCallFast and readCall return equal calls, also in size, for every method.
func TestReadCallFast(t *testing.T) {
	k := &socket{server: &Server{calls: calls.NewDispatcher(calls.Options{})}}
	k.principal.Store(&hub.Principal{AgentID: "a"})
	taken := 0
	for name, h := range handlers {
		for _, params := range []string{"", "{}", ` { } `, sample(h.Params),
			strings.ReplaceAll(sample(h.Params), `"x"`, `"\u0078\"}"`)} {
			frame := fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q}`, name)
			if params != "" {
				frame = fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":%s}`, name, params)
			}
			quick := k.readCallFast([]byte(frame))
			thorough := k.readCall([]byte(frame))
			want := reflect.New(h.Params).Interface()
			if err := wire.Decode(thorough.Params, want); err != nil {
				if quick != nil {
					t.Errorf("%s: taken quickly, and refused: %v", frame, err)
				}
				continue
			}
			if quick == nil {
				t.Errorf("%s: not taken quickly", frame)
				continue
			}
			taken++
			if quick.ID != thorough.ID || quick.Handler.Name != name || thorough.Handler.Name != name ||
				quick.Size != len(thorough.Params) || quick.Principal != thorough.Principal {
				t.Errorf("%s: %+v and %+v", frame, quick, thorough)
			}
			if !reflect.DeepEqual(quick.Decoded, want) {
				t.Errorf("%s: params %+v and %+v", frame, quick.Decoded, want)
			}
		}
	}
	if taken < 2*len(handlers) {
		t.Errorf("%d frames were taken quickly, expected at least two of each of %d methods", taken, len(handlers))
	}
}

// TestReadCallFastRefuses: readCallFast leaves faulty frames to readCall.
func TestReadCallFastRefuses(t *testing.T) {
	k := &socket{server: &Server{calls: calls.NewDispatcher(calls.Options{})}}
	ping := []byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	if k.readCallFast(ping) != nil {
		t.Error("a socket without a token has made a call")
	}
	k.principal.Store(&hub.Principal{AgentID: "a"})
	if k.readCallFast(ping) == nil {
		t.Error("ping makes no call")
	}
	for _, name := range []string{"", "Ping", "none"} {
		if k.readCallFast(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%q}`, name)) != nil {
			t.Errorf("the method %q, which is not served, has made a call", name)
		}
	}
}

// sample returns params of a type with every required member.
func sample(p reflect.Type) string {
	var members []string
	for f := range p.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if strings.HasPrefix(options, "omit") {
			continue
		}
		value := `"x"`
		switch f.Type.Kind() {
		case reflect.Int, reflect.Int64:
			value = "1"
		case reflect.Bool:
			value = "true"
		case reflect.Struct:
			value = sample(f.Type)
		case reflect.Pointer:
			value = sample(f.Type.Elem())
		case reflect.Slice:
			value = "[]"
		case reflect.Map:
			value = "{}"
		}
		if f.Type == reflect.TypeFor[[]byte]() {
			value = `"AAAA"`
		}
		members = append(members, fmt.Sprintf("%q:%s", name, value))
	}
	return "{" + strings.Join(members, ",") + "}"
}
