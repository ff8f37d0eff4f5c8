package parley_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/parleyhub/parley"

// The libraries that not everybody may import.
const (
	bbolt      = "go.etcd.io/bbolt"
	jsonrpc2   = "github.com/sourcegraph/jsonrpc2"
	websocket  = "github.com/coder/websocket"
	zerolog    = "github.com/rs/zerolog"
	jsonschema = "github.com/santhosh-tekuri/jsonschema"
	backoff    = "github.com/cenkalti/backoff"
	cobra      = "github.com/spf13/cobra"
	reflector  = "github.com/invopop/jsonschema"
	prometheus = "github.com/prometheus"
	oidc       = "github.com/coreos/go-oidc"
	jose       = "github.com/go-jose/go-jose"
	yaml       = "go.yaml.in/yaml"
	systemd    = "github.com/coreos/go-systemd"
	cel        = "cel.dev/cel-go"
	porcupine  = "github.com/anishathalye/porcupine"
	fuse       = "github.com/hanwen/go-fuse"
	mcp        = "github.com/modelcontextprotocol"
	mcpSchema  = "github.com/google/jsonschema-go"
	a2aGo      = "github.com/a2aproject/a2a-go"
	openaiGo   = "github.com/openai/openai-go"
	claudeGo   = "github.com/anthropics/anthropic-sdk-go"
	jsonpath   = "github.com/theory/jsonpath"
	cron       = "github.com/netresearch/go-cron"
	webhooks   = "github.com/standard-webhooks/standard-webhooks"
	otel       = "go.opentelemetry.io"
	natsGo     = "github.com/nats-io/nats.go"
	natsServer = "github.com/nats-io/nats-server"
)

// never says what a package must not depend on, through whatever it imports. A name covers what is
// below it.
var never = []struct {
	pkg  string // every package at or below this path
	not  string
	why  string
	save []string // packages at or below pkg for which it does not hold
}{
	{"hub", "rpc", "The hub does not know by which door it is called.", nil},
	{"hub", "sdk", "The hub does not call itself over a wire.", nil},
	{"hub", "executors", "The hub orders turns; it does not take them.", nil},
	{"hub", "adapters", "The hub knows no foreign protocol.", nil},
	{"hub", zerolog, "The hub logs by slog; how it looks is for cmd.", nil},
	{"hub", websocket, "The hub has no sockets.", nil},
	{"hub", jsonrpc2, "The hub speaks Go; rpc speaks JSON-RPC.", nil},
	{"rpc", "sdk", "A door does not use the client of doors.", nil},
	{"rpc", "executors", "A door carries; it does not speak.", nil},
	{"rpc", "hub/journal/bolt", "A door works with any journal.", nil},
	{"rpc", bbolt, "A door works with any journal.", nil},
	{"executors", "hub", "The loop is the same inside the hub and outside: it knows parley.Client only.", nil},
	{"executors", "rpc", "The loop is the same inside the hub and outside: it knows parley.Client only.", nil},
	{"executors", "sdk", "The loop is the same inside the hub and outside: it knows parley.Client only.", nil},
	{
		"executors",
		"internal",
		"The loop is the same inside the hub and outside: it knows parley.Client only.",
		[]string{"executors/blueprint", "executors/function", "executors/llm", "executors/work", "executors/workflow"},
	},
	{"sdk", bbolt, "Partners do not build a storage engine.", []string{"sdk/sdktest"}},
	{"sdk", jsonschema, "Partners do not build what only the hub validates.", []string{"sdk/sdktest"}},
	{"sdk", zerolog, "Partners choose their own logger; the sdk takes a *slog.Logger.", []string{"sdk/sdktest"}},
	{"hub", prometheus, "The hub counts; rpc says it in Prometheus' words.", nil},
	{"hub", oidc, "The hub knows no issuer; it takes a Verifier.", nil},
	{"sdk", prometheus, "Partners do not build the hub's metrics.", []string{"sdk/sdktest"}},
	{"sdk", "hub", "Partners import the client without the server.", []string{"sdk/sdktest"}},
	{"sdk", otel, "Partners choose what their traces are told to; the sdk passes a traceparent on.", nil},
	{"hub", otel, "The hub knows no tracing system; it takes a Tracer.", nil},
	{"rpc", otel, "A door knows no tracing system; it takes a Tracer.", nil},
	{"executors", otel, "What runs takes the Tracer of its context.", []string{"executors/llm/anthropic"}},
	{"sdk", "rpc", "Partners import the client without the server.", []string{"sdk/sdktest"}},
	{"adapters", "hub", "An adapter is a participant like any other: it knows parley.Client only.", nil},
	{"adapters", "rpc", "An adapter is a participant like any other: it knows parley.Client only.", nil},
	{"adapters", "sdk", "An adapter is a participant like any other: it knows parley.Client only.", nil},
	{"rpc", mcp, "The server mounts handlers of other protocols, and knows none of these protocols.", nil},
	{"rpc/internal/admission", "rpc/internal/calls", "Admission decides before a call exists.", nil},
	{"rpc/internal/admission", "rpc/internal/httpapi", "Admission decides for every transport.", nil},
	{"rpc/internal/admission", "internal/wire", "Admission reads headers and tokens, not frames.", nil},
	{"rpc/internal/calls", "rpc/internal/httpapi", "A call does not depend on its transport.", nil},
	{"rpc/internal/calls", prometheus, "Calls count; rpc/internal/metrics describes the counters.", nil},
	{"rpc/oidc", "rpc/internal", "An issuer is a Verifier of the hub, which works without the server.", nil},
	{"sdk", mcp, "Partners do not build foreign protocols.", nil},
	{"sdk", a2aGo, "Partners do not build foreign protocols.", nil},
	{"hub", a2aGo, "The hub knows no foreign protocol.", nil},
	{"executors/a2a", "adapters", "Whether the other side is a hub is nobody's business here.", nil},
	{"hub", natsGo, "Who is a hub by itself builds no client of NATS.", []string{"hub/journal/jetstream"}},
	{"hub", natsServer, "NATS servers are processes of their own.", nil},
	{"rpc", natsGo, "A door works with any journal.", nil},
	{"sdk", natsGo, "Partners dial hubs, not what hubs share.", nil},
	{"sdk", natsServer, "Partners dial hubs, not what hubs share.", nil},
	{"hub", mcp, "The hub knows no foreign protocol.", nil},
	{"hub", openaiGo, "The hub knows no model.", nil},
	{"hub", claudeGo, "The hub knows no model.", nil},
	{"rpc", openaiGo, "A door carries; it does not speak.", nil},
	{"rpc", claudeGo, "A door carries; it does not speak.", nil},
	{"sdk", openaiGo, "Partners build a vendor's library only where they use it.", nil},
	{"sdk", claudeGo, "Partners build a vendor's library only where they use it.", nil},
	{"sdk", "executors/llm", "Who dials a hub does not build what asks models.", []string{"sdk/sdktest"}},
	{"executors/llm/agent", openaiGo, "An agent works with any runtime.", nil},
	{"executors/llm/agent", claudeGo, "An agent works with any runtime.", nil},
	{"executors/llm/agent", mcp, "An agent is given what connects to servers.", nil},
	{"internal", "executors/llm", "What is shared knows no model.", nil},
	{"adapters", "executors/llm", "An adapter is a participant like any other: it knows parley.Client only.", nil},
	{"sdk", jsonpath, "Partners do not build what only the hub matches.", []string{"sdk/sdktest"}},
	{"executors/llm", "hub", "What embeds fits what the hub asks for, and does not know it.", nil},
	{"hub/vector", "executors", "The hub compares vectors, whoever has made them.", nil},
	{"internal/selector", "internal/paramschema", "What matches validates nothing.", nil},
	{"examples", "hub", "An example is what a partner could write.", nil},
	{"examples", "rpc", "An example is what a partner could write.", nil},
	{"examples", "sdk", "An agent works with any Client. The program of the README connects.", []string{"examples/hello"}},
	{"internal", "hub", "Doors and the sdk share this code, so it depends on neither.", []string{"internal/worktest"}},
	{"internal", "rpc", "Doors and the sdk share this code, so it depends on neither.", []string{"internal/worktest"}},
	{"internal", "sdk", "Doors and the sdk share this code, so it depends on neither.", []string{"internal/worktest"}},
	{"cmd/parley/internal", "cmd/parley/internal/serve", "A command that calls a hub does not run one.",
		[]string{"cmd/parley/internal/serve", "cmd/parley/internal/a2a", "cmd/parley/internal/demo",
			"cmd/parley/internal/commands", "cmd/parley/internal/clitest/program"}},
	{"cmd/parley/internal/cli", "hub/journal/bolt", "The base of all commands opens no log.", nil},
}

// only says who alone may import a package directly.
var only = []struct {
	pkg string
	by  []string
	why string
}{
	{bbolt, []string{"hub/journal/bolt"}, "One package knows how the log lies on disk."},
	{
		jsonschema,
		[]string{"internal/paramschema", "internal/schematest", "examples/blueprints"},
		"One package bounds what a schema can cost; tests and an example are not the hub.",
	},
	{"hub/journal/bolt",
		[]string{"cmd/parley/internal/journals", "cmd/parley/internal/files", "cmd/parley/internal/logs",
			"cmd/parley/internal/doctor", "hub/journal/jetstream"},
		"A replica is a log on disk too. In the program, package journals opens logs; the others look at their files."},
	{"hub/journal/jetstream", []string{"cmd/parley/internal/journals", "cmd/parley/internal/serve"},
		"Package journals chooses the journal of a hub; package serve exports its metrics."},
	{natsGo, []string{"hub/journal/jetstream"}, "One package knows NATS."},
	{
		natsServer,
		[]string{"internal/natscluster", "bench/compare"},
		"One package runs NATS servers, for tests and for trying; bench/compare has its own.",
	},
	{
		"internal/natscluster",
		[]string{"torture/engine"},
		"NATS servers within a process are for tests and for dev-cluster.",
	},
	{"internal/hubproc", []string{"torture", "conformance", "cmd/parley/internal/clitest"},
		"Tests start the program; the program does not start itself so."},
	{"cmd/parley/internal/clitest", []string{"cmd/parley/internal/clitest"}, "Only tests use the helpers of tests."},
	{"cmd/parley/internal/commands", []string{"cmd/parley"}, "Commands do not know each other through the list of all."},
	{"cmd/parley/internal/devcluster", []string{"cmd/parley/internal/commands"}, "It exists only with a build tag."},
	{"cmd/parley/internal/listen", []string{"cmd/parley/internal/serve"}, "One package serves HTTP."},
	{"internal/promise", []string{"torture"}, "Tests report promises; the program does not."},
	{websocket, []string{"internal/wire", "bench"}, "One package knows sockets; the bench compares with a bare one."},
	{jsonrpc2, []string{"internal/wire"}, "One package knows JSON-RPC frames; the sdk makes calls through wire.Peer."},
	{cobra, []string{"cmd", "bench/cmd"}, "Flags are for the program."},
	{reflector, []string{"internal/schema/generate"}, "One package makes schemas of types."},
	{"internal/schema/generate", nil, "Tests make the documents; the program keeps them."},
	{
		yaml,
		[]string{"internal/yamlfile", "internal/shape", "internal/schematest", "cmd/parley/internal/config"},
		"Files that people write are YAML: settings, scenarios and blueprints; everything else is JSON.",
	},
	{systemd, []string{"cmd/parley/internal/serve"}, "Who started the program is known to the program."},
	{oidc, []string{"rpc/oidc"}, "One package knows issuers."},
	{jose, []string{"rpc/oidc"}, "One package reads signed tokens."},
	{
		prometheus,
		[]string{"rpc", "internal/telemetry"},
		"One package writes metrics, and one tells OpenTelemetry the same.",
	},
	{
		otel,
		[]string{"internal/telemetry"},
		"One package knows OpenTelemetry; whatever else runs begins spans with parley.StartSpan.",
	},
	{"hub/internal/hubtest", nil, "Tests of rooms share an engine; the program does not."},
	{"internal/worktest", nil, "Tests run agents against a real hub; the program does not."},
	{"internal/telemetry",
		[]string{"cmd/parley/internal/cli", "cmd/parley/internal/runner", "cmd/parley/internal/serve"},
		"The program chooses whether it exports traces and metrics."},
	{"internal/golden", nil, "Tests compare; the program does not."},
	{"internal/schematest", nil, "Tests validate files a second time; the program does not."},
	{"internal/ssetest", nil, "Tests read streams; the program writes them."},
	{"internal/spannames/generate", nil, "Tests generate the constants."},
	{
		zerolog,
		[]string{"cmd/parley/internal/serve", "cmd/parley/internal/demo", "rpc"},
		"Others log by slog or return errors.",
	},
	{cel, []string{"hub/policy"}, "One package knows expressions."},
	{fuse, []string{"torture/faultfs"}, "Faults of the disk are for tests."},
	{mcp,
		[]string{"adapters/mcp", "executors/llm/mcptool", "cmd/parley/internal/mcp", "cmd/parley/internal/serve",
			"cmd/parley/internal/clitest"},
		"One package serves the Model Context Protocol and one calls its servers; the program starts them."},
	{openaiGo, []string{"executors/llm/openai"}, "One package asks OpenAI, and servers that speak as it does."},
	{claudeGo, []string{"executors/llm/anthropic"}, "One package asks Anthropic."},
	{
		a2aGo,
		[]string{"adapters/a2a", "executors/a2a", "cmd/parley/internal/a2a", "cmd/parley/internal/serve", "bench/cmd"},
		"One package serves the Agent2Agent protocol and one speaks it; the program starts them, and the bench compares with a bare one.",
	},
	{jsonpath, []string{"internal/selector"}, "One package reads and evaluates paths."},
	{cron, []string{"adapters/timetable"}, "One package knows when something is due."},
	{webhooks, []string{"adapters/hooks", "cmd/parley/internal/clitest"}, "One package verifies signatures; tests sign."},
	{
		"internal/selector",
		[]string{"hub", "executors/blueprint", "executors/workflow"},
		"Routing, fetching and explaining ask one matcher; files are checked and steps are mapped with it.",
	},
	{
		"hub/vector",
		[]string{"hub", "cmd/parley/internal/serve"},
		"The hub compares; which embedder it asks is chosen where the program is put together.",
	},
	{mcpSchema, []string{"adapters/mcp"}, "One package says what its tools take."},
	{porcupine, []string{"internal/history"}, "One package checks histories."},
	{"internal/schema/typescript", nil, "Tests make the declarations; the page is checked with them."},
	{"internal/history", []string{"torture"}, "Tests check histories; the program does not."},
}

// constants are the packages of constants and spellings that every package of the module may import.
var constants = []string{
	"internal/limits", "internal/mcpentry", "internal/methods", "internal/spannames", "internal/spelling",
	"internal/toolnames",
}

// within says all that a package may import besides the standard library and the nouns.
var within = []struct {
	pkg string
	may []string
	why string
}{
	{"", constants, "The nouns import the standard library and tables of constants."},
	{"executors", []string{backoff}, "The loop is small enough to be read."},
	{
		"executors/blueprint",
		[]string{
			"executors/function",
			"executors/process",
			"executors/work",
			"executors/workflow",
			"internal/arguments",
			"internal/paramschema",
			"internal/selector",
			"internal/shape",
			"internal/yamlfile",
			"github.com/gofrs/flock",
			"github.com/go-json-experiment/json",
		},
		"A blueprint is read, checked and run, and nothing else.",
	},
	{
		"executors/work",
		[]string{"internal/paramschema", "internal/triggerinput"},
		"What all kinds of agents share is nothing but the work, its schemas and what an event gives.",
	},
	{"executors/function", []string{"executors/work"}, "A function is work, and nothing more."},
	{
		"executors/workflow",
		[]string{"executors/work", "internal/selector"},
		"A workflow is work whose steps are sessions.",
	},
	{"internal/selector", []string{jsonpath}, "The matcher reads paths with a library and walks them itself."},
	{"internal/triggerinput", nil, "What an event gives is made with the standard library."},
	{"rpc/internal/admission", []string{"hub", "golang.org/x/time/rate"}, "Admission is small enough to audit."},
	{"rpc/internal/metrics", []string{prometheus}, "Metrics are a table of counters."},
	{"hub/fold", []string{"hub/fold", "hub/policy"}, "States and decisions depend on events and policies only."},
	{"hub/fold/check", []string{"github.com/go-json-experiment/json", "hub/fold/eventdata", "hub/policy"},
		"A check of parameters needs no state, so it cannot ask for one."},
	{"hub/fold/eventdata", nil, "One event is encoded and read without its conversation."},
	{"hub/fold/idempotency", []string{"hub/fold/eventdata"}, "Keys depend on single events, not on states."},
	{"hub/internal/conv", []string{"hub/fold", "hub/journal"},
		"The engine of conversations knows no caller, turn or session."},
	{"hub/internal/page", []string{"hub/internal/conv", "hub/journal"},
		"Limits, cursors and waits are the same for all methods."},
	{"hub/internal/auth", []string{"hub/fold", "hub/internal/conv", "hub/internal/page", "hub/journal"},
		"The rights of a caller do not depend on turns or sessions."},
	{"hub/internal/cluster", []string{"hub/internal/conv", "hub/journal"}, "Other hubs are followed through the engine."},
	{"hub/internal/approvals", []string{"hub/fold", "hub/internal/auth", "hub/internal/conv", "hub/internal/page",
		"hub/policy", "internal/paramschema"}, "Approvals use turns through an interface."},
	{"hub/internal/changes", []string{"hub/internal/auth", "hub/internal/conv", "hub/internal/page"},
		"The feed of changes uses lists of conversations through an interface."},
	{"hub/internal/files", []string{"golang.org/x/sync", "hub/fold", "hub/internal/auth", "hub/internal/conv",
		"hub/internal/page", "hub/journal", "internal/quota"},
		"Files depend on conversations and the rights of callers only."},
	{"hub/internal/turns", []string{"hub/desk", "hub/fold", "hub/internal/auth", "hub/internal/cluster",
		"hub/internal/conv", "hub/internal/page", "hub/policy"},
		"Sessions and runners depend on turns, through interfaces of turns."},
	{"hub/internal/registry", []string{"hub/fold", "hub/internal/auth", "hub/internal/cluster", "hub/internal/conv",
		"hub/internal/page", "hub/internal/turns", "hub/policy", "internal/arguments", "internal/paramschema",
		"internal/selector", "golang.org/x/time/rate"},
		"A runner is an executor of turns that registers blueprints. Sessions and triggers observe the registry."},
	{"hub/internal/agentcontext", []string{"hub/fold", "hub/internal/auth", "hub/internal/conv", "hub/internal/page",
		"hub/internal/registry", "hub/journal", "hub/policy", "hub/vector", "internal/selector"},
		"A context depends on the log and on blueprints, not on sessions or triggers."},
	{"hub/internal/sessions", []string{"hub/fold", "hub/internal/auth", "hub/internal/conv", "hub/internal/page",
		"hub/internal/registry", "hub/internal/turns", "hub/policy", "internal/arguments", "internal/paramschema"},
		"Sessions find agents in the registry, which needs no sessions; triggers reach them through an interface."},
	{"hub/internal/triggers", []string{"hub/fold", "hub/internal/agentcontext", "hub/internal/auth",
		"hub/internal/conv", "hub/internal/page", "hub/internal/registry", "hub/internal/sessions", "hub/policy",
		"internal/selector", "internal/triggerinput"}, "Triggers start sessions; sessions do not know them."},
	{"hub/vector", nil, "Vectors are compared with the standard library."},
	{"adapters/console", nil, "A page is given out with the standard library; it calls the hub by itself."},
	{"adapters/hooks", []string{webhooks}, "A hook is a signature and a note."},
	{"adapters/timetable", []string{cron}, "A timetable is a clock and a note."},
	{"executors/a2a", []string{a2aGo}, "A remote agent is spoken to with the library and the standard one."},
	{
		"executors/llm",
		[]string{"executors/llm/internal/toolschema", "internal/paramschema", backoff},
		"What is the same for every model knows no vendor, no tool and no hub.",
	},
	{"executors/llm/internal/toolschema", nil, "A schema is adapted with the standard library."},
	{"executors/llm/llmtest", []string{"executors/llm"}, "A provider is tested without any other."},
	{
		"executors/llm/openai",
		[]string{"executors/llm", openaiGo},
		"A vendor is asked with its library and the standard one.",
	},
	{
		"executors/llm/anthropic",
		[]string{"executors/llm", claudeGo},
		"A vendor is asked with its library and the standard one.",
	},
	{"executors/process", nil, "A program is run with the standard library."},
	{"executors/command", []string{"executors/process"}, "A program is run with the standard library."},
	{
		"sdk",
		[]string{"executors", "internal/registration", "internal/wire", backoff},
		"Every library of the sdk is one of the partners' too.",
	},
	{"examples/priorauth", []string{"executors"}, "An example shows Parley, not libraries."},
	{"cmd/parley/internal/exit", []string{"hub/journal"}, "Errors and exit codes know no command."},
	{"cmd/parley/internal/certs", []string{"cmd/parley/internal/exit"},
		"Certificates are read with the standard library."},
	{"cmd/parley/internal/cli",
		[]string{"cmd/parley/internal/exit", "cmd/parley/internal/certs", "internal/telemetry", "internal/wire", "sdk",
			cobra, "github.com/fatih/color", "golang.org/x/term"},
		"The base of all commands knows none of them."},
	{"cmd/parley/internal/view", []string{"cmd/parley/internal/cli"}, "Events are shown, not fetched."},
	{"cmd/parley/internal/listen", []string{"cmd/parley/internal/exit"}, "Listeners know no hub."},
	{"cmd/parley/internal/clitest/scriptcall", nil, "Calls of scripts are served with the standard library."},
}

type pkg struct {
	ImportPath string
	Standard   bool
	Imports    []string
	Deps       []string
}

// TestImportsPointOneWay keeps the layers of the design.
func TestImportsPointOneWay(t *testing.T) {
	all := load(t)
	for _, r := range never {
		named(t, all, r.pkg, r.not)
		named(t, all, r.save...)
		for _, p := range all {
			if !below(p.ImportPath, r.pkg) || belowAny(p.ImportPath, r.save) {
				continue
			}
			if i := slices.IndexFunc(p.Deps, func(d string) bool { return below(d, r.not) && !isConstants(d) }); i >= 0 {
				t.Errorf("%s depends on %s. %s", p.ImportPath, p.Deps[i], r.why)
			}
		}
	}
	for _, r := range only {
		named(t, all, r.pkg)
		named(t, all, r.by...)
		for _, p := range all {
			if !ours(p.ImportPath) || below(p.ImportPath, r.pkg) || belowAny(p.ImportPath, r.by) {
				continue
			}
			if slices.ContainsFunc(p.Imports, func(i string) bool { return below(i, r.pkg) }) {
				t.Errorf("%s imports %s. %s", p.ImportPath, r.pkg, r.why)
			}
		}
	}
	for _, r := range within {
		named(t, all, r.pkg)
		named(t, all, r.may...)
		p := all[path(r.pkg)]
		for _, i := range p.Imports {
			if !all[i].Standard && i != module && !belowAny(i, r.may) &&
				!slices.Contains(constants, strings.TrimPrefix(i, module+"/")) {
				t.Errorf("%s imports %s. %s", p.ImportPath, i, r.why)
			}
		}
	}
}

// TestProgramWithoutServers keeps the NATS servers, which dev-cluster runs, out of the usual
// program.
func TestProgramWithoutServers(t *testing.T) {
	for tags, want := range map[string]bool{"": false, "devcluster": true} {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-tags", tags, "./cmd/parley").Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		if got := strings.Contains(string(out), natsServer); got != want {
			t.Errorf("with the tags %q the program has NATS servers: %v, expected %v", tags, got, want)
		}
	}
}

// modules are the directories of the modules of the repository.
var modules = []string{".", "bench", "conformance", "torture"}

// load lists every package of all modules with its dependencies, without those of tests. Each
// module is listed with its own go.mod.
func load(t *testing.T) map[string]pkg {
	t.Helper()
	all := map[string]pkg{}
	for _, dir := range modules {
		cmd := exec.CommandContext(
			t.Context(),
			"go",
			"list",
			"-e",
			"-deps",
			"-json=ImportPath,Standard,Imports,Deps",
			"./...",
		)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list in %s: %v", dir, err)
		}
		dec := json.NewDecoder(bytes.NewReader(out))
		for {
			var p pkg
			err := dec.Decode(&p)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("go list in %s: %v", dir, err)
			}
			all[p.ImportPath] = p
		}
	}
	return all
}

// named fails for names of packages of ours that do not exist: a rule about nothing holds always.
func named(t *testing.T, all map[string]pkg, names ...string) {
	t.Helper()
	for _, name := range names {
		if !isOurs(name) {
			continue
		}
		exists := false
		for _, p := range all {
			exists = exists || below(p.ImportPath, name)
		}
		if !exists {
			t.Errorf("the rules name %s, which does not exist. Change them", path(name))
		}
	}
}

// path is the import path of a name in the tables: one of ours, or a library.
func path(name string) string {
	switch {
	case name == "":
		return module
	case isOurs(name):
		return module + "/" + name
	}
	return name
}

func isOurs(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	return !strings.Contains(first, ".")
}

// isConstants reports whether an import path is one of constants.
func isConstants(importPath string) bool {
	return slices.Contains(constants, strings.TrimPrefix(importPath, module+"/"))
}

func ours(importPath string) bool {
	return importPath == module || strings.HasPrefix(importPath, module+"/")
}

// below reports whether an import path is the one named or lies below it.
func below(importPath, name string) bool {
	return importPath == path(name) || strings.HasPrefix(importPath, path(name)+"/")
}

func belowAny(importPath string, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return below(importPath, n) })
}
