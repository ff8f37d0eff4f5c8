package demo

import (
	"io"
	"testing"

	"github.com/rs/zerolog"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/serve"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// TestDemoOffersThePayer while it runs, and no longer.
func TestDemoOffersThePayer(t *testing.T) {
	t.Parallel()
	s := &stage{}
	var err error
	log := zerolog.New(io.Discard)
	if s.server, err = serve.Start(serve.Options{Journal: memory.New(), Address: "127.0.0.1:0", Log: log}); err != nil {
		t.Fatal(err)
	}
	h := s.server.Hub
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
