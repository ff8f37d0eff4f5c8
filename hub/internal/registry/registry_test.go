package registry

import (
	"encoding/json"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/internal/limits"
)

// A name belongs to the runner that registered it first. It keeps its place while the runner changes
// its blueprints, and passes to the next runner when it drops the name.
func TestNamesBelongToFirstRunner(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		r := newRegistry(t, j, &recorder{})
		one, _ := connect(t, r, "ops", "one")
		two, _ := connect(t, r, "lab", "two")
		check := func(got []string, want ...string) {
			t.Helper()
			if !slices.Equal(got, want) {
				t.Errorf("names are %q, want %q", got, want)
			}
		}
		check(register(t, r, one, command("count")), "count")
		check(register(t, r, two, command("count"), command("other")), "count@two", "other")
		changed := command("count")
		changed.Description = "counts"
		check(register(t, r, one, changed), "count")
		check(register(t, r, one, command("third")), "third")
		check(register(t, r, two, command("count")), "count")
		check(register(t, r, one, changed), "count@one")
		check(register(t, r, two))
		if b, meets := r.Find("count", "", nil); b == nil || !meets || b.Runner.RunnerID != "one" {
			t.Errorf("found %+v", b)
		}
		last := j.Last()
		check(register(t, r, one, changed), "count")
		if j.Last() != last {
			t.Error("the same record was written again")
		}
	})
}

// Demands select a runner that is online before one that is away, and the first one if none meets them.
func TestFindPrefersOnlineRunners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t, newJournal(t), &recorder{})
		closers := make(map[string]func())
		for _, id := range []string{"one", "two", "three"} {
			p, c := connect(t, r, "ops", id)
			b := command("count")
			if id != "one" {
				b.Labels = map[string]string{"room": "4"}
			}
			register(t, r, p, b)
			closers[id] = c.Close
		}
		check := func(want string, wantMeets bool, runnerID string, demands map[string]string) {
			t.Helper()
			if b, meets := r.Find("count", runnerID, demands); b == nil || b.Runner.RunnerID != want || meets != wantMeets {
				t.Errorf("found %v and %t, want %s and %t", b, meets, want, wantMeets)
			}
		}
		room := map[string]string{"room": "4"}
		check("one", true, "", nil)
		check("two", true, "", room)
		closers["two"]()
		check("three", true, "", room)
		check("two", true, "two", room)
		closers["three"]()
		check("two", true, "", room)
		check("one", false, "", map[string]string{"room": "5"})
		if b, _ := r.Find("none", "", nil); b != nil {
			t.Errorf("found %v", b)
		}
	})
}

// Runners that are offline at the same time leave at that time, each with one event, and the observer is
// notified of each.
func TestOfflineRunnersLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &recorder{}
		j := newJournal(t)
		r := newRegistry(t, j, o)
		var refs []parley.RunnerRef
		for _, id := range []string{"one", "two"} {
			p, c := connect(t, r, "ops", id)
			register(t, r, p, command(id))
			refs = append(refs, parley.RunnerRef{RunnerID: id, ParticipantID: "ops"})
			c.Close()
		}
		other, _ := connect(t, r, "ops", "three")
		register(t, r, other, command("three"))
		time.Sleep(limits.OfflineMs*time.Millisecond - 1)
		if synctest.Wait(); !r.Has(refs[0]) || !r.Has(refs[1]) {
			t.Error("a runner left too early")
		}
		o.takeChanged()
		time.Sleep(1 * time.Nanosecond)
		three := parley.RunnerRef{RunnerID: "three", ParticipantID: "ops"}
		if synctest.Wait(); r.Has(refs[0]) || r.Has(refs[1]) || !r.Has(three) {
			t.Error("a runner is still registered, or the wrong one left")
		}
		if changed := o.takeChanged(); len(changed) != 2 || changed[0] == changed[1] {
			t.Errorf("the observer was notified of %v", changed)
		}
		records, err := j.Read(Conversation, 0, 100, 1<<20)
		if err != nil || len(records) != 1+3+2 {
			t.Errorf("%d events, %v", len(records), err)
		}
	})
}

// After a start the registry knows the blueprints, and all runners are away. A record that does not
// compile is skipped, and an agent whose first runner is skipped belongs to the next one.
func TestLoadSkipsInvalidRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(t)
		r := newRegistry(t, j, &recorder{})
		for _, id := range []string{"bad", "good"} {
			b := command("count")
			b.Subscriptions = json.RawMessage(`[{"schema_name":"s.v1"}]`)
			if id == "bad" {
				b.Subscriptions = json.RawMessage(`[{"role":"unknown"}]`)
			}
			record := &parley.RunnerRecord{
				RunnerRef: parley.RunnerRef{RunnerID: id, ParticipantID: "ops"}, Blueprints: []parley.Blueprint{b},
			}
			sys := parley.System{Kind: parley.KindRunnerRegistered, RunnerRecord: record}
			_, err := wait(func(done func(*fold.Decision, error)) {
				r.engine.PinReserved(Conversation, "runners", func(c *conv.Conversation, err error) {
					if err != nil {
						done(nil, err)
						return
					}
					cmd := fold.Command{Do: &fold.AddSystem{Event: &sys}, From: parley.HubID, Admin: true}
					c.Do(&conv.Request{Cmd: cmd, Reply: done})
				})
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		o := &recorder{}
		r = newRegistry(t, j, o)
		if r.Has(parley.RunnerRef{RunnerID: "bad", ParticipantID: "ops"}) {
			t.Error("the record that does not compile is there")
		}
		if first := o.first["count"]; first != "good" {
			t.Errorf("the subscriptions are those of %q", first)
		}
		result, err := r.ListAgents(auth.Local("ann"), nil)
		if err != nil || len(result.Agents) != 1 || result.Agents[0].Name != "count" || result.Agents[0].Online {
			t.Errorf("agents %+v, %v", result.Agents, err)
		}
	})
}
