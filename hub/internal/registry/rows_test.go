package registry

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/internal/limits"
)

func TestRow(t *testing.T) {
	record := parley.RunnerRecord{
		RunnerRef: parley.RunnerRef{RunnerID: "box", ParticipantID: "ops"},
		Labels:    map[string]string{"room": "4", "floor": "1"},
		Blueprints: []parley.Blueprint{{
			Name: "count", Labels: map[string]string{"room": "5"}, ParametersSchema: json.RawMessage(`{}`),
			Subscriptions: json.RawMessage(`[{}]`),
		}},
	}
	want := parley.AgentInfo{
		Name: "count@box", Type: parley.AgentTypeDeterministic, Runner: "ops", RunnerID: "box", Online: true,
		Labels:           map[string]string{"room": "5", "floor": "1"},
		ParametersSchema: json.RawMessage(`{}`), Subscriptions: json.RawMessage(`[{}]`),
	}
	x := newRunner(&record)
	const now = parley.Timestamp(1_000_000)
	check := func(name string) {
		t.Helper()
		if d := cmp.Diff(want, x.agents["count"].row("count@box", now)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
	check("online")
	x.awaySince, want.Online = now-limits.StaleMs+1, false
	check("away")
	x.awaySince, want.Stale = now-limits.StaleMs, true
	check("stale")
	x.Internal, want.Runner = true, ""
	check("of the process of the hub")
}

// The estimate of a row is at least its size in JSON, also if every byte of its texts is escaped.
func TestRowBytesCoversJSON(t *testing.T) {
	labels := make(map[string]string)
	for i := range limits.MaxLabels {
		labels[fmt.Sprintf("\x01%02d", i)] = strings.Repeat("\x01", 10)
	}
	name := strings.Repeat("n", 64)
	full := parley.AgentInfo{
		Name: name + "@" + name, Type: parley.AgentTypeDeterministic, Description: strings.Repeat("<", 1024),
		ParametersSchema: json.RawMessage(`{"a":1}`), OutputSchema: json.RawMessage(`{"b":1}`),
		AgentConfig: json.RawMessage(`{"c":1}`), Subscriptions: json.RawMessage(`[{}]`),
		Runner: name, RunnerID: name, Labels: labels, Stale: true,
	}
	for _, info := range []parley.AgentInfo{{}, {Name: "a", Labels: map[string]string{"k": "v"}}, full} {
		b, err := json.Marshal(info)
		if err != nil {
			t.Fatal(err)
		}
		if n := rowBytes(&info); n < len(b) {
			t.Errorf("estimated %d bytes for %d: %.100s", n, len(b), b)
		}
	}
}

// Rows with known names are skipped and use no room. The first row that does not fit ends the list.
func TestAppendFitting(t *testing.T) {
	large := strings.Repeat("x", limits.MaxPageBytes/6-130)
	rows := map[string]*parley.AgentInfo{
		"a": {Name: "a", Description: large}, "b": {Name: "b"}, "c": {Name: "c", Description: large},
		"d": {Name: "d"},
	}
	got := appendFitting([]parley.AgentInfo{{Name: "a"}}, rows)
	if names := namesIn(got); names != "a b c" {
		t.Errorf("names are %q", names)
	}
	rows = map[string]*parley.AgentInfo{
		"b": {Name: "b", Description: large}, "c": {Name: "c", Description: large}, "d": {Name: "d"},
	}
	if names := namesIn(appendFitting(nil, rows)); names != "b" {
		t.Errorf("names are %q", names)
	}
}

func namesIn(list []parley.AgentInfo) string {
	var names []string
	for _, info := range list {
		names = append(names, info.Name)
	}
	return strings.Join(names, " ")
}

// Narrowing keeps what the token grants, and does not change the record that it is made from.
func TestNarrowRecord(t *testing.T) {
	record := parley.RunnerRecord{
		Workspaces: []string{"green", "blue"},
		Blueprints: []parley.Blueprint{{Name: "ops", Subscriptions: json.RawMessage(`[{}]`)}, {Name: "plain"}},
	}
	for _, c := range []struct {
		p             *auth.Principal
		workspaces    int
		subscriptions bool
		isNarrower    bool
	}{
		{auth.Local("ops").WithWorkspaces("green", "blue", "red"), 2, true, false},
		{auth.Local("ops").WithWorkspaces("blue"), 1, true, true},
		{auth.Local("ops"), 0, true, true},
		{auth.Local("other").WithWorkspaces("green", "blue"), 2, false, true},
	} {
		got, isNarrower := narrowRecord(c.p, record)
		if len(got.Workspaces) != c.workspaces || got.Blueprints[0].Subscriptions != nil != c.subscriptions ||
			isNarrower != c.isNarrower {
			t.Errorf("%s with %q: %+v, %t", c.p.AgentID, c.p.Workspaces(), got, isNarrower)
		}
	}
	if len(record.Workspaces) != 2 || record.Blueprints[0].Subscriptions == nil {
		t.Errorf("the record changed: %+v", record)
	}
}
