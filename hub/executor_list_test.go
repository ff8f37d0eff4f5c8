package hub_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/internal/limits"
)

func executorsFor(t *testing.T, h *hub.Hub, p *hub.Principal) parley.ListAgentsResult {
	t.Helper()
	r, err := h.ListAgents(t.Context(), p, &parley.ListAgentsParams{IncludeExecutors: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestExecutorsAreListed: with what they hold, to admins and to who has registered them, for as long as they are connected.
func TestExecutorsAreListed(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		admin := login(t, h, rootToken)
		mine := mustToken(t, h, admin, parley.CreateTokenParams{AgentID: "a"})
		busy, idle := connect(t, h, mine), connect(t, h, mustToken(t, h, admin, parley.CreateTokenParams{AgentID: "b"}))
		busy.mustRegister(parley.RegisterExecutorParams{ExecutorID: "r1", Agents: []string{"a"}, Mode: parley.ModePush,
			Capacity: 3, Labels: map[string]string{"room": "4"}})
		idle.mustRegister(parley.RegisterExecutorParams{ExecutorID: "r0", Agents: []string{"b"}})
		id := asked(t, h, nil)
		busy.claim()
		a := parley.ExecutorInfo{ExecutorID: "r1", RegisteredBy: "a", Mode: parley.ModePush, Agents: []string{"a"},
			Labels: map[string]string{"room": "4"}, Claims: 1, Capacity: 3}
		b := parley.ExecutorInfo{ExecutorID: "r0", RegisteredBy: "b", Mode: parley.ModePull, Agents: []string{"b"},
			Capacity: limits.DefaultCapacity}
		narrow := mustToken(t, h, admin, parley.CreateTokenParams{AgentID: "a", Conversations: []string{id}})
		for name, c := range map[string]struct {
			p    *hub.Principal
			want []parley.ExecutorInfo
		}{
			"admin": {admin, []parley.ExecutorInfo{a, b}}, "its own": {mine, []parley.ExecutorInfo{a}}, "narrow": {narrow, nil},
			"another": {mustToken(t, h, admin, parley.CreateTokenParams{AgentID: "z"}), nil},
		} {
			if d := cmp.Diff(c.want, executorsFor(t, h, c.p).Executors); d != "" {
				t.Errorf("%s is told (-want +got):\n%s", name, d)
			}
		}
		if r, err := h.ListAgents(t.Context(), admin, nil); err != nil || r.Executors != nil {
			t.Errorf("who has not asked is told %+v, %v", r.Executors, err)
		}
		busy.conn.Close()
		synctest.Wait()
		if d := cmp.Diff([]parley.ExecutorInfo{b}, executorsFor(t, h, admin).Executors); d != "" {
			t.Errorf("after one has left (-want +got):\n%s", d)
		}
	})
}

// TestExecutorsFit: those that an answer has no room for are counted.
func TestExecutorsFit(t *testing.T) {
	inBubble(t, func(t *testing.T, h *hub.Hub, j journal.Journal) {
		const n = 250
		var names []string
		for i := range limits.MaxExecutorAgents {
			names = append(names, fmt.Sprintf("%02d%s", i, strings.Repeat("x", 62)))
		}
		p := h.LocalPrincipal("host", parley.ScopeAdmin)
		for i := range n {
			connect(t, h, p).mustRegister(parley.RegisterExecutorParams{ExecutorID: fmt.Sprintf("r%03d", i), Agents: names})
		}
		r := executorsFor(t, h, p)
		if len(r.Executors) == 0 || len(r.Executors) == n || len(r.Executors)+r.ExecutorsMore != n {
			t.Errorf("there are %d executors and %d more", len(r.Executors), r.ExecutorsMore)
		}
	})
}
