package main

import (
	"io"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/journal/memory"
	"github.com/rs/zerolog"
)

// TestDemoOffersThePayer while it runs, and no longer.
func TestDemoOffersThePayer(t *testing.T) {
	t.Parallel()
	s := &stage{}
	var err error
	log := zerolog.New(io.Discard)
	if s.server, err = startServer(serverOptions{journal: memory.New(), addr: "127.0.0.1:0", log: log}); err != nil {
		t.Fatal(err)
	}
	h := s.server.hub
	s.admin = h.Client(h.LocalPrincipal("admin", parley.ScopeAdmin))
	offered := func() []parley.AgentInfo {
		r, err := s.admin.ListAgents(t.Context(), &parley.ListAgentsParams{})
		if err != nil {
			t.Fatal(err)
		}
		return r.Agents
	}
	if err := s.startPayer(log); err != nil {
		t.Fatal(err)
	}
	if got := offered(); len(got) != 1 || got[0].Name != "payer" || !got[0].Online {
		t.Errorf("the demo offers %+v", got)
	}
	if err := s.stopPayer(); err != nil {
		t.Error(err)
	}
	if got := offered(); len(got) != 0 {
		t.Errorf("after its end it offers %+v", got)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}
