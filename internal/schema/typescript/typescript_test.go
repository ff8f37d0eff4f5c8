package typescript_test

import (
	"os"
	"testing"

	"github.com/parleyhub/parley/internal/golden"
	"github.com/parleyhub/parley/internal/schema/typescript"
)

// kept are the declarations that the console is checked against.
const kept = "../../../adapters/console/page/js/protocol.d.ts"

// TestDeclarationsAreThoseOfTheSchemas compares the console's declarations with the schemas, or
// writes them with -update.
func TestDeclarationsAreThoseOfTheSchemas(t *testing.T) {
	schemas, err := os.ReadFile("../documents/schemas.json")
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := typescript.Declarations(schemas)
	if err != nil {
		t.Fatal(err)
	}
	golden.Compare(t, kept, fresh)
}

// TestDeclarations: each kind of schema as its type.
func TestDeclarations(t *testing.T) {
	got, err := typescript.Declarations([]byte(`{"$defs":{
		"B": {"type":"object","description":"A b. */ more","required":["id"],"properties":{
			"id":{"type":"string","description":"id is\nits id."},"n":{"type":"integer"},"a-b":{"type":["string","null"]},
			"list":{"type":"array","items":{"enum":["x","y"]}},"open":{"anyOf":[{"enum":["x"]},{"type":"string"}]},
			"a":{"$ref":"#/$defs/A"},"any":true,"of":{"type":"object","additionalProperties":{"type":"number"}},
			"in":{"type":"object","properties":{"yes":{"type":"boolean"}}},"one":{"const":1}}},
		"A": {"oneOf":[{"type":"string"},{"$ref":"#/$defs/B"}]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	const want = `// What goes over the wire. Made from the schemas of the protocol: go test ./internal/schema/typescript -update

export type A = (string & {}) | B;

/** A b. * / more */
export interface B {
  /** id is its id. */
  id: string;
  n?: number;
  "a-b"?: string | null;
  list?: ('x' | 'y')[];
  open?: 'x' | (string & {});
  a?: A;
  any?: any;
  of?: {[name: string]: number};
  in?: {
    yes?: boolean;
  };
  one?: 1;
}
`
	if string(got) != want {
		t.Errorf("got:\n%s", got)
	}
	if _, err := typescript.Declarations([]byte(`[`)); err == nil {
		t.Error("half a document was read")
	}
}
