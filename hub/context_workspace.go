package hub

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/journal"
)

// maxUnsorted is how many of the newest conversations are looked through for those that are in some workspace, where any is granted.
const maxUnsorted = 100_000

// labeled gives the newest conversations of a workspace, or of all workspaces, that the caller's token is for: at most maxConversations.
func (f *feeding) labeled(ctx context.Context, workspace string) ([]journal.Listed, error) {
	label, most := fold.WorkspaceLabel(workspace), maxConversations
	if workspace == auth.AnyWorkspace {
		label, most = "", maxUnsorted
	}
	var kept []journal.Listed
	for after := journal.Position(0); ; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rows, err := f.hub.journal.Labeled(label, after, 1000)
		if err != nil {
			return nil, fmt.Errorf("list the workspace %s: %w", workspace, err)
		}
		if len(rows) == 0 {
			break
		}
		after = rows[len(rows)-1].Position
		kept = append(kept, slices.DeleteFunc(rows, func(r journal.Listed) bool {
			return conv.Reserved(r.Conversation) || strings.HasPrefix(r.Conversation, conv.SessionPrefix) || !f.reaches(r.Conversation)
		})...)
		if extra := len(kept) - most; extra > 0 {
			kept = slices.Delete(kept, 0, extra)
		}
	}
	if workspace != auth.AnyWorkspace {
		return kept, nil
	}
	return f.inSome(ctx, kept)
}

// inSome gives, of some conversations, the newest that are in a workspace at all: at most maxConversations.
func (f *feeding) inSome(ctx context.Context, rows []journal.Listed) ([]journal.Listed, error) {
	var in []journal.Listed
	for _, r := range slices.Backward(rows) {
		if len(in) == maxConversations {
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		events, err := f.hub.readEvents(r.Conversation, 0, 1)
		if err != nil {
			return nil, err
		}
		if len(events) == 0 || events[0].Type != parley.TypeSystem {
			continue
		}
		sys, err := events[0].System()
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", r.Conversation, err)
		}
		if sys.Workspace != "" {
			in = append(in, r)
		}
	}
	return in, nil
}
