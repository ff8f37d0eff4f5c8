package a2a

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/parleyhub/parley/internal/golden"
)

// kitRequirements are the requirements of the conformance kit without those of gRPC, by families of
// ids. why is the reason to leave them out.
var kitRequirements = []struct{ ids, why string }{
	{"AUTH-INTASK-001 AUTH-INTASK-002 AUTH-INTASK-003 AUTH-INTASK-005 AUTH-INTASK-006 AUTH-SCOPE-001 AUTH-SCOPE-002 " +
		"AUTH-SCOPE-003 AUTH-SERVER-002", ""},
	{"BIND-EQUIV-001 BIND-EQUIV-002 BIND-EQUIV-003 BIND-EQUIV-004 BIND-FIELD-001", ""},
	{"CARD-CACHE-001 CARD-CACHE-002 CARD-CACHE-003 CARD-DISC-001 CARD-EXT-001 CARD-PROTO-001 CARD-PROTO-002 " +
		"CARD-STRUCT-001", ""},
	{"CORE-CANCEL-001 CORE-CANCEL-002 CORE-CANCEL-003 CORE-CAP-001 CORE-ERR-001 CORE-ERR-002 CORE-EXECUTION-MODE-001 " +
		"CORE-EXECUTION-MODE-002 CORE-GET-001 CORE-GET-002", ""},
	{"CORE-HIST-001 CORE-HIST-002 CORE-HIST-003 CORE-HIST-004 CORE-HIST-005 CORE-HIST-006 CORE-LIST-001 CORE-LIST-002 " +
		"CORE-LIST-003 CORE-LIST-004 CORE-LIST-005", ""},
	{"CORE-MULTI-001 CORE-MULTI-001a CORE-MULTI-002 CORE-MULTI-002a CORE-MULTI-003 CORE-MULTI-004 CORE-MULTI-005 " +
		"CORE-MULTI-006", ""},
	{"CORE-SEND-001 CORE-SEND-002 CORE-SEND-003 CORE-STREAM-001 CORE-STREAM-002 CORE-STREAM-003", ""},
	{"DM-ART-001 DM-MSG-001 DM-MSG-002 DM-PART-001 DM-SERIAL-001 DM-SERIAL-002 DM-SERIAL-003 DM-SERIAL-004 " +
		"DM-SERIAL-005 DM-STATUS-001 DM-TASK-001 DM-TASK-002", ""},
	{"HTTP_JSON-ERR-001 HTTP_JSON-ERR-002 HTTP_JSON-QP-001 HTTP_JSON-SSE-001 HTTP_JSON-STATUS-001 HTTP_JSON-SVC-001 " +
		"HTTP_JSON-SVC-002 HTTP_JSON-URL-001 HTTP_JSON-URL-002", ""},
	{"JSONRPC-ERR-001 JSONRPC-ERR-002 JSONRPC-FMT-001 JSONRPC-FMT-002 JSONRPC-SSE-001 JSONRPC-SSE-002 JSONRPC-SVC-001 " +
		"JSONRPC-SVC-002", ""},
	{"PUSH-CREATE-001 PUSH-CREATE-002 PUSH-DEL-001 PUSH-DEL-002 PUSH-DELIVER-001 PUSH-DELIVER-002 PUSH-DELIVER-003 " +
		"PUSH-GET-001 PUSH-GET-002 PUSH-LIST-001", ""},
	{"STREAM-ORDER-001 STREAM-ORDER-002 STREAM-ORDER-003 STREAM-ORDER-004 STREAM-SUB-001 STREAM-SUB-002 STREAM-SUB-003 " +
		"STREAM-SUB-004", ""},
	{"VER-CLIENT-002 VER-SERVER-001 VER-SERVER-002 VER-SERVER-003", ""},
	{"AUTH-INTASK-004", "how an agent gets credentials is the agent's own"},
	{"AUTH-TLS-001 AUTH-TLS-002", "of a deployment: the hub serves TLS, and refuses to listen beyond loopback without"},
	{"AUTH-SERVER-001 VER-CLIENT-001", "of clients: package executors/a2a is held to them by its own tests"},
	{"CARD-EXT-002", "each agent has an extended card"},
	{"CARD-SIGN-001 CARD-SIGN-002 CARD-SIGN-003 CARD-SIGN-004", "no card is signed"},
	{"CORE-CAP-002 CORE-CAP-003", "each agent has streams and an extended card"},
	{"CORE-CAP-004", "no extension is required"},
}

// docs/reference/a2a-requirements.md lists the tested requirements with their tests, and those that are left
// out. Every requirement of the kit is in one of the lists.
func TestRequirementsAreDocumented(t *testing.T) {
	var rows []string
	for _, r := range frontRequirements {
		rows = append(rows, fmt.Sprintf("| %s | %s | %s | TestFrontRequirements |\n", r.id, r.level, r.what))
	}
	for _, r := range opsRequirements {
		rows = append(rows, fmt.Sprintf("| %s | %s | %s | TestOperationRequirements |\n", r.id, r.level, r.what))
	}
	for _, r := range wireRequirements {
		rows = append(rows, fmt.Sprintf("| %s | %s | %s | TestWireRequirements |\n", r.id, r.level, r.what))
	}
	slices.Sort(rows)
	var left []string
	for _, k := range kitRequirements {
		if k.why != "" {
			left = append(left, fmt.Sprintf("| %s | %s |\n", strings.ReplaceAll(k.ids, " ", ", "), k.why))
		}
		for id := range strings.FieldsSeq(k.ids) {
			held := slices.ContainsFunc(rows, func(row string) bool { return strings.HasPrefix(row, "| "+id+" |") })
			if held == (k.why != "") {
				t.Errorf("%s is held: %v, and left out for %q", id, held, k.why)
			}
		}
	}
	want := `# The requirements of A2A 1.0 that are tested

The ids are those of the A2A conformance kit (branch 1.0-dev), or, if the kit has none, sections of
the specification. Each requirement is a test of package adapters/a2a with the id as its name:

    go test ./adapters/a2a -run 'Requirements' -v

TestWireRequirements runs its requirements over JSON-RPC and over HTTP+JSON with a plain JSON
client. TestScenarios runs the scenarios of the kit.

| id | level | what | test |
|---|---|---|---|
` + strings.Join(rows, "") + `
Left out, besides those of gRPC, which is not supported:

| id | why |
|---|---|
` + strings.Join(left, "")
	golden.Compare(t, filepath.Join("..", "..", "docs", "reference", "a2a-requirements.md"), want)
}
