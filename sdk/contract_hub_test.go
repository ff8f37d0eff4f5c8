package sdk_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/parleyhub/parley"
)

// TestContractListAgents: every caller with the scope read sees the agents of the hub, the same
// with every client.
func TestContractListAgents(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, s *scene) {
		none, err := s.a.ListAgents(t.Context(), &parley.ListAgentsParams{})
		if err != nil || none.Agents == nil || len(none.Agents) != 0 {
			t.Errorf("a hub without agents: %+v, %v", none, err)
		}
		info := parley.AgentInfo{
			Name: "payer", Type: parley.AgentTypeDeterministic, Description: "decides <fast> & right",
			ParametersSchema: json.RawMessage(`{"type":"object"}`),
		}
		s.hub.RegisterAgent(t, info)
		s.hub.RegisterAgent(t, parley.AgentInfo{Name: "fax", Type: parley.AgentTypeFunction})
		info.Online = true
		want := []parley.AgentInfo{{Name: "fax", Type: parley.AgentTypeFunction, Online: true}, info}
		got, err := s.b.ListAgents(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got.Agents); d != "" {
			t.Errorf("agents (-want +got):\n%s", d)
		}
		writer := s.door.client(t, s.hub, "a", parley.ScopeWrite)
		if _, err := writer.ListAgents(t.Context(), nil); !errors.Is(err, parley.ErrForbidden) {
			t.Errorf("without scope read: %v", err)
		}
	})
}

// TestContractStats: only admins see the counters of the hub.
func TestContractStats(t *testing.T) {
	t.Parallel()
	eachDoor(t, func(t *testing.T, s *scene) {
		admin := s.door.client(t, s.hub, "admin", parley.ScopeAdmin)
		before, err := admin.Stats(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			s.must(s.say(s.a, parley.FinalityTurn, "k-1", "hello"))
		}
		after, err := admin.Stats(t.Context(), &parley.StatsParams{})
		if err != nil {
			t.Fatal(err)
		}
		if after.EventsAppended[parley.TypeMessage] != 1 || after.Duplicates != 1 ||
			after.Append.Count != before.Append.Count+1 ||
			after.State != parley.HubReady || after.Version != "sdktest" || after.ConversationsLoaded < 1 ||
			after.JournalBytes <= before.JournalBytes ||
			len(after.Append.Buckets) != len(after.Append.BoundsMs) ||
			after.Refusals == nil {
			t.Errorf("stats: %+v, before: %+v", after, before)
		}
		if _, err := s.a.Stats(t.Context(), nil); !errors.Is(err, parley.ErrForbidden) {
			t.Errorf("without scope admin: %v", err)
		}
	})
}
