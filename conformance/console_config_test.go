package conformance

import (
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/parleyhub/parley"
)

// hashConfigs prints the digests that the console computes of the configs that it is given. Each is
// computed twice: with the browser's own means, and as in a page that has none.
const hashConfigs = `
const { digestOf } = await import(process.env.PAGE + '/config.js');
const configs = JSON.parse(process.env.CONFIGS);
const sums = [];
for (const text of configs) sums.push(await digestOf(JSON.parse(text)));
Object.defineProperty(globalThis, 'crypto', { value: {} });
for (const text of configs) sums.push(await digestOf(JSON.parse(text)));
console.log(JSON.stringify(sums));`

// TestConsoleConfigHash: the console finds the config of a run by the hash of
// parley.AgentConfigHash, whatever the config contains. This also works over plain HTTP, where a
// browser has no digests.
func TestConsoleConfigHash(t *testing.T) {
	t.Parallel()
	node := require(t, "node")
	configs := []string{
		`{}`, `[]`, `null`, `"text"`,
		`{"model":"openai:gpt-4o","temperature":0.5,"instructions":"Say it in a line.\nAnd one more.","agents":["b","a"],"run_options":{"budget":{"tokens":50000,"ms":120000}}}`,
		"{ \"b\" : [1.0, -0, 1e2, 5e-324, 1.7976931348623157e308, 9007199254740993, 0.1, 1E21, 1e-7, 123456789012345680000],\n\"a\":true}",
		`[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001,1e20,1e-6]`,
		"{\"€\":5,\"\\r\":1,\"\ufb33\":7,\"1\":2,\"😀\":6,\"\u0080\":3,\"ö\":4,\"10\":1,\"9\":1,\"\":0}",
		`{"<&>":"\u003c\u0026\u003e\u0022\u005c\u002f\u0008\u000c\u000a\u000d\u0009\u0001\u001f\u007f\u2028\u2029\ufeff\ufffd\uD83D\uDE00 é e\u0301"}`,
		`{"a":"half \ud83d, \ude00 \ude00\ud83d","__proto__":{"x":1},"constructor":null,"toString":[]}`,
	}
	given, err := json.Marshal(configs)
	if err != nil {
		t.Fatal(err)
	}
	page, err := filepath.Abs(filepath.Join("..", "adapters", "console", "page", "js"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, "--no-warnings", "--input-type=module", "-e", hashConfigs)
	cmd.Env = append(os.Environ(), "PAGE="+(&url.URL{Scheme: "file", Path: filepath.ToSlash(page)}).String(),
		"CONFIGS="+string(given))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var sums []string
	if err := json.Unmarshal(out, &sums); err != nil || len(sums) != 2*len(configs) {
		t.Fatalf("%v: %s", err, out)
	}
	for i, sum := range sums {
		config := configs[i%len(configs)]
		want, err := parley.AgentConfigHash(json.RawMessage(config))
		if err != nil || sum != want {
			t.Errorf("of %s the console computes %s, parley.AgentConfigHash %s, %v", config, sum, want, err)
		}
	}
}
