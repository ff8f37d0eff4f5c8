package wire_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/wire"
)

// allParams are the params of every method.
var allParams = []func() any{
	func() any { return new(parley.AuthenticateParams) }, func() any { return new(parley.PingParams) },
	func() any { return new(parley.CreateConversationParams) }, func() any { return new(parley.GetConversationParams) },
	func() any { return new(parley.ListConversationsParams) }, func() any { return new(parley.AddParticipantParams) },
	func() any { return new(parley.CloseConversationParams) }, func() any { return new(parley.TailParams) },
	func() any { return new(parley.WaitForChangeParams) }, func() any { return new(parley.GetUpdatesParams) },
	func() any { return new(parley.SubscribeParams) }, func() any { return new(parley.UnsubscribeParams) },
	func() any { return new(parley.GetGuidanceParams) }, func() any { return new(parley.ExplainParams) },
	func() any { return new(parley.SendMessageParams) }, func() any { return new(parley.SendTraceParams) },
	func() any { return new(parley.SendNoteParams) }, func() any { return new(parley.SendDeltaParams) },
	func() any { return new(parley.CreateTokenParams) },
	func() any { return new(parley.PutAttachmentParams) }, func() any { return new(parley.GetAttachmentParams) },
	func() any { return new(parley.RegisterExecutorParams) }, func() any { return new(parley.RegisterBlueprintsParams) },
	func() any { return new(parley.StartSessionParams) }, func() any { return new(parley.GetSessionParams) },
	func() any { return new(parley.StopSessionParams) },
}

func TestDecodeKeepsBytes(t *testing.T) {
	params := []byte(`{"finality":"none","payload":{ "n":1.0e2, "t":"\u003c<\ud83d\ude00" },"conversationId":"\u0063",` +
		`"afterSeq":0}`)
	var q parley.SendMessageParams
	if err := wire.Decode(params, &q); err != nil {
		t.Fatal(err)
	}
	clear(params) // the frame is reused
	if q.ConversationID != "c" || string(q.Payload) != `{ "n":1.0e2, "t":"\u003c<\ud83d\ude00" }` || q.AfterSeq == nil ||
		*q.AfterSeq != 0 {
		t.Errorf("got %+v", q)
	}
}

func TestDecodeRefusals(t *testing.T) {
	for _, c := range []struct {
		into    func() any
		params  string
		path    string
		unknown bool
	}{
		{func() any { return new(parley.TailParams) }, ``, "conversationId", false},
		{func() any { return new(parley.TailParams) }, `{"conversationId":"c"}`, "sinceSeq", false},
		{func() any { return new(parley.TailParams) }, `{"conversationId":1,"sinceSeq":0}`, "conversationId", false},
		{func() any { return new(parley.TailParams) }, `{"conversationId":"c","sinceSeq":0,"x":{}}`, "x", true},
		{func() any { return new(parley.TailParams) }, `{"ConversationId":"c","sinceSeq":0}`, "ConversationId", true},
		{func() any { return new(parley.TailParams) }, `{"conversationId":"c","sinceSeq":1.0}`, "sinceSeq", false},
		{func() any { return new(parley.TailParams) }, `{"conversationId":"c","sinceSeq":-9007199254740992}`, "sinceSeq",
			false},
		{func() any { return new(parley.TailParams) }, `{"conversationId":"c","sinceSeq":99999999999999999999}`, "sinceSeq",
			false},
		{func() any { return new(parley.TailParams) }, `{"conversationId":"c","conversation\u0049d":"d","sinceSeq":0}`,
			"conversationId", false},
		{func() any { return new(parley.TailParams) }, `[]`, "", false},
		{func() any { return new(parley.GetGuidanceParams) }, `{"conversationId":"c","explain":1}`, "explain", false},
		{func() any { return new(parley.CreateConversationParams) },
			`{"participants":[{"id":"a","kind":"agent"},{"id":"b"}]}`, "participants[1].kind", false},
		{func() any { return new(parley.CreateConversationParams) }, `{"participants":[{"id":"a","kind":"agent","x":1}]}`,
			"participants[0].x", true},
		{func() any { return new(parley.CreateConversationParams) }, `{"participants":[7]}`, "participants[0]", false},
		{func() any { return new(parley.CreateConversationParams) }, `{"participants":null}`, "participants", false},
		{func() any { return new(parley.CreateConversationParams) }, `{"participants":[],"policy":null}`, "policy", false},
		{func() any { return new(parley.CreateConversationParams) }, `{"participants":[],"policy":{}}`, "policy.kind", false},
		{func() any { return new(parley.CreateConversationParams) }, `{"participants":[],"limits":{"maxTurns":"2"}}`,
			"limits.maxTurns", false},
		{func() any { return new(parley.RegisterExecutorParams) }, `{"executorId":"x","agents":[],"labels":[]}`, "labels",
			false},
		{func() any { return new(parley.RegisterExecutorParams) }, `{"executorId":"x","agents":[],"labels":null}`, "labels",
			false},
		{func() any { return new(parley.RegisterExecutorParams) }, `{"executorId":"x","agents":[],"labels":{"gpu":1}}`,
			"labels.gpu", false},
		{func() any { return new(parley.RegisterExecutorParams) },
			`{"executorId":"x","agents":[],"labels":{"a":"1","\u0061":"2"}}`, "labels.a", false},
		{func() any { return new(parley.RegisterExecutorParams) }, `{"executorId":"x","agents":[],"labels":{"a":"\ud800"}}`,
			"labels.a", false},
		{func() any { return new(parley.RegisterExecutorParams) }, `{"executorId":"x","agents":[],"labels":{"\ud800":"1"}}`,
			"labels", false},
		{func() any { return new(parley.RegisterBlueprintsParams) }, `{"blueprints":[{"name":"a"}]}`,
			"blueprints[0].parameters_schema", false},
		{func() any { return new(parley.RegisterBlueprintsParams) },
			`{"blueprints":[{"name":"a","parameters_schema":{},"command":"x"}]}`, "blueprints[0].command", true},
		{func() any { return new(parley.StartSessionParams) }, `{"agentName":"a","demands":{"gpu":["1"]}}`, "demands.gpu",
			false},
		{func() any { return new(parley.GetSessionParams) }, `{"sessionId":"s","progressSince":null}`, "progressSince",
			false},
		{func() any { return new(parley.SendNoteParams) },
			`{"conversationId":"c","payload":{"schema":"s","data":{"a":{"b":1,"b":2}}}}`, "payload.data.a.b", false},
		{func() any { return new(parley.SendMessageParams) },
			`{"conversationId":"c","finality":"none","payload":{"text":"\udc00"}}`, "payload.text", false},
	} {
		err := wire.Decode([]byte(c.params), c.into())
		var p *wire.ParamError
		if !errors.As(err, &p) || !errors.Is(err, parley.ErrInvalidParams) {
			t.Errorf("%s: %v", c.params, err)
			continue
		}
		if unknown := strings.Contains(err.Error(), "is not a param of this method"); p.Path != c.path ||
			unknown != c.unknown {
			t.Errorf("%s: path %q: %v", c.params, p.Path, err)
		}
	}
}

// An optional param that is present has a meaning.
func TestDecodeZeros(t *testing.T) {
	for _, c := range []struct {
		into    any
		params  string
		refused string // the param; empty means accepted
	}{
		{new(parley.AuthenticateParams), `{"token":"t","agentId":""}`, "agentId"},
		{new(parley.AuthenticateParams), `{"token":"t","clientName":""}`, "clientName"},
		{new(parley.AuthenticateParams), `{"token":""}`, ""}, // required: the hub returns the fault
		{new(parley.CreateConversationParams), `{"participants":[],"title":""}`, "title"},
		{new(parley.CreateConversationParams), `{"participants":[{"id":"a","kind":"agent","role":""}]}`,
			"participants[0].role"},
		{new(parley.CreateConversationParams), `{"participants":[],"limits":{"maxTurns":0}}`, "limits.maxTurns"},
		{new(parley.CreateConversationParams), `{"participants":[],"limits":{}}`, ""},
		{new(parley.CreateConversationParams), `{"participants":[],"policy":{"kind":""}}`, ""},
		{new(parley.CloseConversationParams), `{"conversationId":"c","outcome":{"status":"failed","reason":""}}`,
			"outcome.reason"},
		{new(parley.ListConversationsParams), `{"cursor":""}`, "cursor"},
		{new(parley.ListConversationsParams), `{"status":""}`, "status"},
		{new(parley.GetConversationParams), `{"conversationId":"c","limit":0}`, "limit"},
		{new(parley.GetConversationParams), `{"conversationId":"c","limit":-0}`, "limit"},
		{new(parley.GetConversationParams), `{"conversationId":"c","sinceSeq":0}`, ""},
		{new(parley.TailParams), `{"conversationId":"","sinceSeq":0}`, ""},
		{new(parley.WaitForChangeParams), `{"conversationId":"c","sinceSeq":0,"timeoutMs":0}`, ""},
		{new(parley.GetUpdatesParams), `{"conversationId":"c","sinceSeq":0,"timeoutMs":0,"until":""}`, "until"},
		{new(parley.GetGuidanceParams), `{"conversationId":"c","explain":false}`, ""},
		{new(parley.ExplainParams), `{"conversationId":"c","seq":0}`, "seq"},
		{new(parley.SendMessageParams), `{"conversationId":"c","payload":{},"finality":"turn","afterSeq":0}`, ""},
		{new(parley.SendMessageParams), `{"conversationId":"c","payload":{},"finality":"turn","turn":0}`, "turn"},
		{new(parley.SendMessageParams), `{"conversationId":"c","payload":{"text":""},"finality":"turn","clientRequestId":""}`,
			"clientRequestId"},
		{new(parley.SendDeltaParams), `{"conversationId":"c","turn":1,"index":0,"text":""}`, ""},
		{new(parley.CreateTokenParams), `{"agentId":"a","expiresInMs":0}`, "expiresInMs"},
		{new(parley.CreateTokenParams), `{"agentId":"a"}`, ""},
		{new(parley.CreateTokenParams), `{"agentId":"a","scopes":[]}`, ""}, // the hub refuses it
		{new(parley.SubscribeParams), `{"conversationId":"c"}`, ""},
		{new(parley.StartSessionParams), `{"agentName":"a","timeoutMs":0}`, ""},
		{new(parley.StartSessionParams), `{"agentName":"a","prompt":""}`, "prompt"},
		{new(parley.StartSessionParams), `{"agentName":"a","resume":""}`, "resume"},
		{new(parley.StartSessionParams), `{"agentName":"a","demands":{"gpu":""}}`, ""}, // the hub says what labels may be
		{new(parley.GetSessionParams), `{"sessionId":"s","progressSince":0}`, ""},
		{new(parley.RegisterBlueprintsParams), `{"blueprints":[{"name":"a","parameters_schema":{},"timeout_ms":0}]}`,
			"blueprints[0].timeout_ms"},
		{new(parley.GetAttachmentParams), `{"conversationId":"c","sha256":"","offset":0}`, ""},
		{new(parley.GetAttachmentParams), `{"conversationId":"c","sha256":"x","length":0}`, "length"},
		{new(parley.PutAttachmentParams), `{"conversationId":"c","data":""}`, ""}, // the hub refuses it
		{new(parley.PutAttachmentParams), `{"conversationId":"c","data":"","name":""}`, "name"},
	} {
		err := wire.Decode([]byte(c.params), c.into)
		if c.refused == "" {
			if err != nil {
				t.Errorf("%s: %v", c.params, err)
			}
			continue
		}
		var p *wire.ParamError
		var e *parley.Error
		if !errors.As(err, &p) || p.Path != c.refused || !errors.Is(err, parley.ErrValidationFailed) ||
			!errors.As(err, &e) || !strings.HasPrefix(e.Message, c.refused) || !strings.Contains(e.Expected, "leave it out") {
			t.Errorf("%s: %v", c.params, err)
		}
	}
}

// Empty and absent lists differ.
func TestDecodeKeepsEmptyLists(t *testing.T) {
	var q parley.CreateTokenParams
	if err := wire.Decode([]byte(`{"agentId":"a","scopes":[]}`), &q); err != nil || q.Scopes == nil ||
		q.Conversations != nil {
		t.Errorf("read %#v: %v", q, err)
	}
}

// Each file has one encoding.
func TestDecodeBase64(t *testing.T) {
	for text, want := range map[string]string{
		``: "", `aGk=`: "hi", `aGVsbG8=`: "hello", `+/+/`: "\xfb\xff\xbf", `+\/+\/`: "\xfb\xff\xbf", `\u0061Gk=`: "hi",
	} {
		var q parley.PutAttachmentParams
		if err := wire.Decode([]byte(`{"conversationId":"c","data":"`+text+`"}`), &q); err != nil || q.Data == nil ||
			string(q.Data) != want {
			t.Errorf("%s: %q, %v", text, q.Data, err)
		}
	}
	for _, data := range []string{
		`"aGk"`, `"aGk=="`, `"aGl="`, `"aGk= "`, `" aGk="`, `"aG\nk="`, `"aG\r\nk="`, `"aGk=\n"`, `"-_-_"`, `"a"`, `"===="`,
		`"aGk=aGk="`, `null`, `["aGk="]`, `7`, `{}`,
	} {
		err := wire.Decode([]byte(`{"conversationId":"c","data":`+data+`}`), new(parley.PutAttachmentParams))
		var p *wire.ParamError
		if !errors.As(err, &p) || p.Path != "data" || !errors.Is(err, parley.ErrInvalidParams) ||
			!strings.Contains(err.Error(), "base64") {
			t.Errorf("%s: %v", data, err)
		}
	}
}

// TestDecodeRequired removes each member of the params of every method: only required ones may be
// missed.
func TestDecodeRequired(t *testing.T) {
	for _, into := range allParams {
		full := filled(reflect.TypeOf(into()).Elem())
		var members map[string]json.RawMessage
		encoded, err := json.Marshal(full.Interface())
		if err != nil {
			t.Fatal(err)
		}
		if err := wire.Decode(encoded, into()); err != nil {
			t.Errorf("%s: %v", encoded, err)
		}
		if err := json.Unmarshal(encoded, &members); err != nil {
			t.Fatal(err)
		}
		for f := range full.Type().Fields() {
			name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
			without, _ := json.Marshal(remove(members, name))
			err := wire.Decode(without, into())
			if required := !strings.HasPrefix(options, "omit"); required != errors.Is(err, parley.ErrInvalidParams) {
				t.Errorf("%v without %s: %v", full.Type(), name, err)
			}
			if err != nil && !strings.Contains(err.Error(), name+" is missing") {
				t.Errorf("%v without %s: %v", full.Type(), name, err)
			}
		}
	}
}

func remove(members map[string]json.RawMessage, name string) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	for k, v := range members {
		if k != name {
			out[k] = v
		}
	}
	return out
}

// filled returns a value without zero fields.
func filled(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.Pointer:
		v.Set(filled(t.Elem()).Addr())
	case reflect.Struct:
		for i := range t.NumField() {
			v.Field(i).Set(filled(t.Field(i).Type))
		}
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(`{}`))
		} else {
			v.Set(reflect.Append(v, filled(t.Elem())))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(t))
		v.SetMapIndex(filled(t.Key()), filled(t.Elem()))
	case reflect.String:
		v.SetString("x")
	case reflect.Bool:
		v.SetBool(true)
	default:
		v.SetInt(7)
	}
	return v
}

// FuzzDecode compares Decode with encoding/json: accepted text has the same meaning, and survives
// both again.
func FuzzDecode(f *testing.F) {
	for i, s := range []string{
		`{"token":"t"}`, `{}`, `{"participants":[{"id":"a","kind":"agent","role":"r"}],"policy":{"kind":"open"},` +
			`"limits":{"maxTurns":3},"metadata":{"a":[1]}}`,
		`{"conversationId":"c","sinceSeq":1,"limit":5}`, `{"status":"active"}`,
		`{"conversationId":"c","participant":{"id":"a","kind":"tool"}}`,
		`{"conversationId":"c","outcome":{"status":"failed"}}`, `{"conversationId":"c","sinceSeq":0}`,
		`{"conversationId":"c","payload":{"text":"\u00e9"},"finality":"turn","afterSeq":-1}`,
		`{"conversationId":"c","payload":{"schema":"s","tags":["a"],"data":null}}`,
		`{"agentId":"a","scopes":["read"],"expiresInMs":9007199254740991}`, `{"conversationId":"c","types":[]}`,
		`{"conversationId":"c","data":"aGk=","name":"n"}`, `{"conversationId":"c","data":"aG\nk="}`,
		`{"conversationId":"c","sha256":"x","offset":0,"length":1}`,
		`{"executorId":"x","agents":[],"labels":{"gpu":"a","\u00e9":""}}`,
		`{"blueprints":[{"name":"a","parameters_schema":{"type":"object"},"labels":{}}]}`,
		`{"agentName":"a@r","parameters":{"x":1},"demands":{"gpu":"a"},"timeoutMs":0}`,
		`{"sessionId":"ses_1","progressSince":0}`,
	} {
		for kind := range allParams {
			if kind%4 == i%4 {
				f.Add(byte(kind), []byte(s))
			}
		}
	}
	f.Fuzz(func(t *testing.T, kind byte, params []byte) {
		into := allParams[int(kind)%len(allParams)]
		got := into()
		if err := wire.Decode(params, got); err != nil {
			if !errors.Is(err, parley.ErrInvalidParams) && !errors.Is(err, parley.ErrValidationFailed) {
				t.Fatalf("%q: %v", params, err)
			}
			return
		}
		if len(params) == 0 {
			return
		}
		want := into()
		if err := json.Unmarshal(params, want); err != nil {
			t.Fatalf("%q was taken, but encoding/json says %v", params, err)
		}
		if a, b := marshal(t, got), marshal(t, want); !bytes.Equal(a, b) {
			t.Fatalf("%q: read %s, encoding/json reads %s", params, a, b)
		}
		again := into()
		if err := wire.Decode(marshal(t, got), again); err != nil {
			t.Fatalf("%q was taken, but not encoded again: %v", params, err)
		}
	})
}

func marshal(t *testing.T, v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
