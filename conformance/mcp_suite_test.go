package conformance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parleyhub/parley/internal/hubproc"
)

// suite is the conformance suite of the protocol's makers.
const suite = "@modelcontextprotocol/conformance/dist/index.js"

// scenarios are those of the suite that ask nothing of a server that only a server for the suite
// has.
var scenarios = map[string][]string{
	withSessions: {
		"server-initialize", "server-session-lifecycle", "ping", "tools-list", "resources-list", "prompts-list",
		"server-sse-multiple-streams", "dns-rebinding-protection",
	},
	stateless: {
		"server-stateless", "tools-list", "resources-list", "prompts-list", "server-sse-multiple-streams",
		"dns-rebinding-protection", "sep-2164-resource-not-found", "caching",
		"http-header-validation", "input-required-result-unsupported-methods",
	},
}

// unscored are scenarios that the suite runs and does not count. They pass too, where there are the
// fixtures.
var unscored = map[string][]string{
	withSessions: {"server-session-lifecycle", "json-schema-2020-12"},
	stateless: {
		"json-schema-2020-12", "http-header-validation", "http-custom-header-server-validation", "tasks-lifecycle",
		"tasks-capability-negotiation", "tasks-wire-fields",
		"tasks-request-state-removal", "tasks-mrtr-input", "tasks-request-headers", "tasks-dispatch-and-envelope",
	},
}

// Why a check of these scenarios need not pass.
const (
	wantsFixture = "it calls a tool that only a server for the suite has"
	noFailure    = "a session has no failure of the protocol: what it ends with is its result"
	otherForm    = "the suite fills in every form with confirm: true; a session asks for a text"
	oneQuestion  = "a session asks one question at a time"
)

// excused are the checks that need not pass: those of scenarios in scenarios without the fixtures,
// and those of unscored with them.
var excused = map[bool]map[string]string{
	false: {
		"sep-2575-server-rejects-undeclared-capability":              wantsFixture,
		"sep-2575-missing-capability-http-400":                       wantsFixture,
		"sep-2575-http-server-no-independent-requests-on-stream":     wantsFixture,
		"sep-2575-server-no-log-without-loglevel":                    wantsFixture,
		"sep-2575-server-sends-prompts-list-changed-on-subscription": wantsFixture,
		"sep-2575-server-sends-tools-list-changed-on-subscription":   wantsFixture,
	},
	true: {
		"sep-2663-tasks-get-status-failed": noFailure,
		"tasks-mrtr-tasks-update-resumes":  otherForm,
		"tasks-mrtr-partial-fulfillment":   oneQuestion,
	},
}

// TestMCPSuite runs the suite against the program: every scenario that needs no server made for it
// passes.
func TestMCPSuite(t *testing.T) {
	t.Parallel()
	s := newStrangers(t, "mcp")
	h := program.Start(t, t.TempDir(), "--mcp")
	newTalk(t, h, "seen", "alice") // so that she has something to list
	base := bearer(t, h.HTTP(), aliceToken(t, h))
	for revision, names := range scenarios {
		t.Run(revision, func(t *testing.T) {
			out := t.TempDir()
			// it fails for those that are left
			r := s.run(t, suite, "server", "--url", base+"/mcp", "--requirements", revision, "-o", out)
			for _, name := range names {
				t.Run(name, func(t *testing.T) {
					if passed := judge(t, out, name, excused[false]); passed == 0 {
						t.Error("nothing was checked")
					}
				})
			}
			if t.Failed() {
				t.Logf("%s%s", r.stdout, r.stderr)
			}
		})
	}
	h.Stop(t)
}

// TestMCPSuiteWithFixtures runs all required tests of a revision against a hub that has the
// fixtures of the suite in addition to its tools. testdata/mcp/baseline-<revision>.yml lists the
// expected failures, and no test that passes.
func TestMCPSuiteWithFixtures(t *testing.T) {
	t.Parallel()
	s := newStrangers(t, "mcp")
	for _, revision := range []string{withSessions, stateless} {
		t.Run(revision, func(t *testing.T) {
			base := bearer(t, fixtureHub(t), hubproc.Token)
			baseline, err := filepath.Abs(filepath.Join("testdata", "mcp", "baseline-"+revision+".yml"))
			if err != nil {
				t.Fatal(err)
			}
			out := t.TempDir()
			r := s.run(t, suite, "server", "--url", base+"/mcp", "--requirements", revision, "--expected-failures", baseline,
				"-o", out)
			_, summary, found := strings.Cut(r.stdout, "=== SUMMARY ===")
			t.Logf("%s", summary)
			if r.code != 0 || !found {
				t.Errorf("code %d\n%s%s", r.code, r.stdout, r.stderr)
			}
			for _, name := range unscored[revision] {
				if passed := judge(t, out, name, excused[true]); passed == 0 {
					t.Errorf("%s: nothing was checked", name)
				}
			}
		})
	}
}

// check is what the suite has found out about one thing.
type check struct {
	ID, Status, Description, ErrorMessage string
	Details                               json.RawMessage
}

// judge reads the results of a scenario below a directory. A check that did not pass fails the
// test, including warnings and skipped checks.
func judge(t *testing.T, dir, scenario string, excused map[string]string) (passed int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "server-"+scenario+"-20*", "checks.json")) // a date follows
	if err != nil || len(files) != 1 {
		t.Fatalf("results of %s: %v, %v", scenario, files, err)
	}
	raw, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var all []check
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		switch {
		case c.Status == "SUCCESS":
			passed++
		case c.Status == "INFO" || excused[c.ID] != "":
		default:
			t.Errorf("%s: %s: %s: %s: %s %s", scenario, c.Status, c.ID, c.Description, c.ErrorMessage, c.Details)
		}
	}
	return passed
}

// aliceToken returns a token of alice with the default scopes.
func aliceToken(t *testing.T, h *hubproc.Hub) string {
	t.Helper()
	k := &talk{t: t, hub: h}
	var made struct{ Token string }
	out := k.parley("token", "create", "--agent", "alice", "-o", "json")
	if err := json.Unmarshal([]byte(strings.TrimSpace(out)), &made); err != nil || made.Token == "" {
		t.Fatalf("token create: %v in %s", err, out)
	}
	return made.Token
}
