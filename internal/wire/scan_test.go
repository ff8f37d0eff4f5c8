package wire_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/wire"
)

// sent reads a frame in both ways and compares the results. It reports whether ScanRequest accepted
// it.
func sent(t *testing.T, frame []byte) bool {
	t.Helper()
	quick, ok := wire.ScanRequest(frame)
	if !ok {
		return false
	}
	var got, want parley.SendMessageParams
	if wire.Decode(quick.Params, &got) != nil {
		return false
	}
	thorough, err := wire.ReadRequest(frame)
	if err != nil {
		t.Fatalf("%q: taken quickly, and refused: %v", frame, err)
	}
	if !reflect.DeepEqual(quick, thorough) {
		t.Fatalf("%q: read as %q and %q", frame, quick, thorough)
	}
	if err := wire.Decode(thorough.Params, &want); err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%q: params %+v and %+v, %v", frame, got, want, err)
	}
	return true
}

const sendable = `{"conversationId":"c","payload":{"text":"a \"b\" \\","data":[{},[]]},"finality":"turn"}`

func TestScanRequest(t *testing.T) {
	deep := strings.Repeat("[", limits.MaxDepth-2) + strings.Repeat("]", limits.MaxDepth-2)
	for _, c := range []struct {
		frame string
		quick bool
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"sendMessage","params":` + sendable + `}`, true},
		{" {\t\"params\" : " + sendable + " , \"id\":\"x-1\",\"method\":\"sendMessage\"\r\n,\"jsonrpc\":\"2.0\"} \n", true},
		{`{"jsonrpc":"2.0","id":-12,"method":"sendMessage","params":` + sendable + `}`, true},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":{"conversationId":"c","payload":` + deep + `,"finality":"turn"}}`,
			true},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":{"conversationId":"c","payload":[` + deep + `],"finality":"turn"}}`,
			false},
		{`{"jsonrpc":"2.0","id":01,"method":"m","params":` + sendable + `}`, false},
		{`{"jsonrpc":"2.0","id":1.0,"method":"m","params":` + sendable + `}`, false},
		{`{"jsonrpc":"2.0","id":-,"method":"m","params":` + sendable + `}`, false},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":` + sendable + `},`, false},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":` + sendable + `,}`, false},
		{`{,"jsonrpc":"2.0","id":1,"method":"m","params":` + sendable + `}`, false},
		{`{"jsonrpc":"2.0","id":1,"id":1,"method":"m","params":` + sendable + `}`, false},
		{`{"jsonrpc":"2.0","id":1,"method":"m","more":1,"params":` + sendable + `}`, false},
		{`{"jsonrpc":"2.0","id":1,"m\u0065thod":"m","params":` + sendable + `}`, false},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":[` + sendable + `]}`, false},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":` + sendable + `]`, false},
		{`{"jsonrpc":"2.0","id":"` + strings.Repeat("i", limits.MaxIDBytes) + `","method":"m","params":` + sendable + `}`,
			false},
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":{"conversationId":"c","payload":{"a":1]}}}`, false},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"conversationId\":\"c\",\"payload\":\"\xff\"}}", false},
		{`[{"jsonrpc":"2.0","id":1,"method":"m"}]`, false},
		{``, false},
	} {
		if quick := sent(t, []byte(c.frame)); quick != c.quick {
			t.Errorf("%.120q: taken quickly %v, expected %v", c.frame, quick, c.quick)
		}
	}
}

// FuzzScanRequest compares the two ways of reading a frame.
func FuzzScanRequest(f *testing.F) {
	for _, s := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"sendMessage","params":` + sendable + `}`,
		`{"jsonrpc":"2.0","method":"m","id":"a","params":{"conversationId":"c","finality":"none","payload":{"a":"\\\"",` +
			`"b":{"a":1}}}} `,
		`{"jsonrpc":"2.0","id":1,"method":"m","params":{"conversationId":"c","payload":"\\"}}`,
		`{"jsonrpc":"2.0","id":0,"method":"m","params":{"conversationId":"c","payload":[1,"]"]}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		if sent(t, frame) && !json.Valid(frame) {
			t.Fatalf("%q is no JSON", frame)
		}
	})
}
