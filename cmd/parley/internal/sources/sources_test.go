package sources_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parleyhub/parley/cmd/parley/internal/sources"
	"github.com/parleyhub/parley/internal/golden"
)

// TestSchemaIsPublished: docs/sources.schema.json is the schema of what is taken.
func TestSchemaIsPublished(t *testing.T) {
	golden.Compare(t, filepath.Join("..", "..", "..", "..", "docs", "sources.schema.json"), sources.Schema())
}

func secretOf(letter string) string {
	return "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(letter, 24)))
}

// environment returns variables with valid secrets, and one with an invalid one.
func environment(name string) (string, bool) {
	value, ok := map[string]string{"ONE": secretOf("a"), "TWO": secretOf("b") + "\n", "BAD": "whsec_canary",
		"EMPTY": ""}[name]
	return value, ok
}

var all = &sources.Options{Getenv: environment}

// TestLoad checks that a file is loaded with the secrets that it names.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "secrets", "# the old one\n"+secretOf("c")+"\n\n  "+secretOf("d")+"  \r\n")
	write(t, dir, "sources.yaml", `
hooks:
  - {name: orders, conversation: shop, agent_id: orders, schema: order.created.v1, tags: [new, order], secrets_env: [ONE, TWO], secrets_file: secrets}
timetable:
  - name: orders
    conversation: shop
    agent_id: clock
    schema: report.due.v1
    cron: 30 7 * * mon-fri
    timezone: Europe/Berlin
    catch_up: 1h30m
    data: {kind: daily, n: 1.50}
  - {name: tick, conversation: shop, agent_id: clock, schema: tick.v1, cron: '@hourly'}
`)
	f, err := sources.Load(filepath.Join(dir, "sources.yaml"), all)
	if err != nil {
		t.Fatal(err)
	}
	h := f.Hooks[0]
	if h.Name != "orders" || h.Conversation != "shop" || h.AgentID != "orders" || h.Schema != "order.created.v1" ||
		!slices.Equal(h.Tags, []string{"new", "order"}) {
		t.Errorf("the hook: %+v", h.Note)
	}
	if want := []string{secretOf("a"), secretOf("b"), secretOf("c"), secretOf("d")}; !slices.Equal(h.Secrets, want) {
		t.Errorf("%d secrets, expected %d", len(h.Secrets), len(want))
	}
	if e := f.Timetable[0]; e.Late != 90*time.Minute || e.Timezone != "Europe/Berlin" ||
		string(e.Data) != `{"kind":"daily","n":1.50}` {
		t.Errorf("the entry: %+v", e)
	}
}

// TestFaults checks that each fault is reported at its position, without a secret.
func TestFaults(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "bad", secretOf("c")+"\nwhsec_canary\n")
	write(t, dir, "nothing", "\n# canary\n")
	const hook = "name: a, conversation: c, agent_id: p, schema: s"
	for _, c := range []struct{ text, want string }{
		{"", "sources.yaml:1:1: expected sources"},
		{"{}", "sources.yaml:1:1: expected hooks or timetable"},
		{"hooks: []", "expected 1 to 256 items"},
		{"hooks: [{" + hook + "}]", "sources.yaml:1:9: hooks[0]: expected secrets_env or secrets_file"},
		{"hooks:\n- {" + hook + ", secrets_env: [ONE, NONE]}",
			"sources.yaml:2:73: hooks[0].secrets_env[1]: there is no variable NONE"},
		{"hooks: [{" + hook + ", secrets_env: [BAD]}]", "hooks[0].secrets_env[0]: BAD: expected whsec_ and 24 to 64 bytes"},
		{"hooks: [{" + hook + ", secrets_env: [EMPTY]}]", "EMPTY: expected whsec_"},
		{"hooks: [{" + hook + ", secrets_env: ONE}]", "expected a list"},
		{"hooks: [{" + hook + ", secrets_env: [A-B]}]", "the name of a variable"},
		{"hooks: [{" + hook + ", secrets_file: none}]", "no such file"},
		{"hooks: [{" + hook + ", secrets_file: .}]", "expected a file of at most 4096 bytes"},
		{"hooks: [{" + hook + ", secrets_file: bad}]", "hooks[0].secrets_file: line 2 of it: expected whsec_"},
		{"hooks: [{" + hook + ", secrets_file: nothing}]", "there is no secret in it"},
		{"hooks: [{" + hook + ", secret: whsec_canary}]", `unknown: "hooks[0].secret"`},
		{"hooks: [{" + hook + ", secrets_env: [ONE]}, {" + hook + ", secrets_env: [ONE]}]",
			"hooks[1].name: it is the name of hooks[0] already"},
		{"hooks: [{name: a/b, conversation: c, agent_id: p, schema: s, secrets_env: [ONE]}]",
			"hooks[0].name: expected 1 to 64"},
		{"hooks: [{name: a, conversation: ~tokens, agent_id: p, schema: s, secrets_env: [ONE]}]",
			"hooks[0].conversation: expected the id"},
		{"hooks: [{name: a, conversation: c, schema: s, secrets_env: [ONE]}]", "agent_id is missing"},
		{"hooks: [{name: a, conversation: c, agent_id: hub, schema: s, secrets_env: [ONE]}]",
			"hooks[0].agent_id: expected another id"},
		{"timetable: [{" + hook + "}]", "cron is missing"},
		{"timetable: [{" + hook + ", cron: '61 * * * *'}]", "timetable[0].cron: expected minute, hour"},
		{"timetable: [{" + hook + ", cron: '0 0 30 2 *'}]", "never due"},
		{"timetable: [{" + hook + ", cron: '@daily', timezone: Mars}]",
			"timetable[0].timezone: expected the name of a time zone"},
		{"timetable: [{" + hook + ", cron: '@daily', catch_up: tomorrow}]", "timetable[0].catch_up: expected a time such as"},
		{"timetable: [{" + hook + ", cron: '@daily', catch_up: 9000h}]", "timetable[0].catch_up: expected at most"},
		{"timetable: [{" + hook + ", cron: '@daily', secrets_env: [ONE]}]", "unknown"},
	} {
		write(t, dir, "sources.yaml", c.text)
		_, err := sources.Load(filepath.Join(dir, "sources.yaml"), all)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v, expected it to say %q", c.text, err, c.want)
		}
	}
}

func write(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
