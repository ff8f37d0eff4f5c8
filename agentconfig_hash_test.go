package parley_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/parleyhub/parley"
)

// TestAgentConfigHash: the hash covers the canonical JSON of RFC 8785, whatever the form of the
// config is.
func TestAgentConfigHash(t *testing.T) {
	for canonical, written := range map[string][]string{
		`{"model":"openai:gpt-4o","temperature":0.5}`: {`{"model":"openai:gpt-4o","temperature":0.5}`,
			"{ \"temperature\" : 5e-1,\n\"model\":\"openai:gpt-4\\u006f\" }"},
		`{"a":[1,true,null,{"b":"x","c":0}]}`: {`{"a":[1.0,true,null,{"c":-0,"b":"x"}]}`,
			`{"a":[1e0,true,null,{"b":"\u0078","c":0}]}`},
		`{"":"","a":"<&>\"\\\n\t\u0001` + "\u2028é" + `"}`: {
			`{"a":"\u003c\u0026\u003e\u0022\u005c\u000a\u0009\u0001\u2028\u00e9","":""}`, `{"a":"<&>\"\\\n\t\u0001` +
				"\u2028é" + `","":""}`,
		},
		// RFC 8785, section 3.2.3: a member's name is compared by its UTF-16.
		"{\"\\r\":1,\"1\":2,\"\u0080\":3,\"ö\":4,\"€\":5,\"😀\":6,\"\ufb33\":7}": {"{\"€\":5,\"\\r\":1,\"\ufb33\":7,\"1\":2,\"😀\":6,\"\u0080\":3,\"ö\":4}"},
		// RFC 8785, section 3.2.2.3, and appendix B.
		`[333333333.3333333,1e+30,4.5,0.002,1e-27,1e+21,100000000000000000000,0.000001,1e-7]`: {
			`[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001,1e21,1e20,1e-6,1e-07]`,
		},
	} {
		want := sha256.Sum256([]byte(canonical))
		for _, w := range written {
			got, err := parley.AgentConfigHash(json.RawMessage(w))
			if err != nil || got != hex.EncodeToString(want[:]) {
				t.Errorf("%s: %s, %v, expected that of %s", w, got, err, canonical)
			}
		}
	}
	if _, err := parley.AgentConfigHash(json.RawMessage(`{"model":`)); err == nil {
		t.Error("what is no JSON has a hash")
	}
}
