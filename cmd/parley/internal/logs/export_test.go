package logs

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
)

// otherHead is a client of a hub that says something else about its head than its events do.
type otherHead struct{ parley.Client }

func (c otherHead) GetConversation(ctx context.Context, p *parley.GetConversationParams) (*parley.Snapshot, error) {
	s, err := c.Client.GetConversation(ctx, p)
	if err == nil {
		s.HeadHash = strings.Repeat("0", len(s.HeadHash))
	}
	return s, err
}

// TestExportComparesHeadHash: an export over the wire ends at the head hash of the hub, or fails.
func TestExportComparesHeadHash(t *testing.T) {
	t.Parallel()
	s := clitest.OpenHub(t)
	client := s.Client(s.LocalPrincipal("ann"))
	_, err := client.CreateConversation(t.Context(), &parley.CreateConversationParams{
		ConversationID: "c1", Participants: []parley.Participant{{ID: "ann", Kind: parley.KindHuman}},
	})
	if err != nil {
		t.Fatal(err)
	}
	a := &cli.App{Timeout: cli.DefaultTimeout}
	if err := exportConversation(t.Context(), a, client, newExporter(io.Discard, nil), "c1"); err != nil {
		t.Error(err)
	}
	err = exportConversation(t.Context(), a, otherHead{client}, newExporter(io.Discard, nil), "c1")
	if err == nil || !strings.Contains(err.Error(), "head hash") {
		t.Errorf("the hub's hash is another, and the export says %v", err)
	}
}
