package agentcontext

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/eventdata"
	"github.com/parleyhub/parley/hub/internal/auth"
	"github.com/parleyhub/parley/hub/internal/conv"
	"github.com/parleyhub/parley/hub/journal"
)

// maxUnsorted bounds the conversations that are checked for a workspace if any is granted.
const maxUnsorted = 100_000

// fetchFromWorkspaces reads the conversations of the granted workspaces, the newest first.
func (b *builder) fetchFromWorkspaces(ctx context.Context, collectors []*collector) error {
	rows, err := b.listConversations(ctx)
	if err != nil {
		return err
	}
	left := maxWorkspaceScan
	for _, row := range rows {
		if left <= 0 {
			return nil
		}
		id := row.Conversation
		head, err := b.service.opts.Engine.Journal().Head(id)
		if err != nil {
			return fmt.Errorf("head of %s: %w", id, err)
		}
		r := b.newLogReader(id, nil, collectors, left)
		before := r.left
		if err := r.collect(ctx, head.Seq, nil); err != nil {
			return err
		}
		left -= before - r.left
	}
	return nil
}

// listConversations returns the newest conversations of the granted workspaces that the token of
// the caller is for. Sessions and reserved conversations are in no workspace.
func (b *builder) listConversations(ctx context.Context) ([]journal.Listed, error) {
	var rows []journal.Listed
	for _, w := range b.Agent.Workspaces {
		more, err := b.listWorkspace(ctx, w)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	slices.SortFunc(rows, func(a, b journal.Listed) int { return cmp.Compare(b.Position, a.Position) })
	rows = slices.CompactFunc(rows, func(a, b journal.Listed) bool { return a.Conversation == b.Conversation })
	return rows[:min(len(rows), maxConversations)], nil
}

// listWorkspace returns at most maxConversations of one workspace, or of all for auth.AnyWorkspace.
func (b *builder) listWorkspace(ctx context.Context, workspace string) ([]journal.Listed, error) {
	label, limit := eventdata.WorkspaceLabel(workspace), maxConversations
	if workspace == auth.AnyWorkspace {
		label, limit = "", maxUnsorted
	}
	var kept []journal.Listed
	for after := journal.Position(0); ; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rows, err := b.service.opts.Engine.Journal().Labeled(label, after, 1000)
		if err != nil {
			return nil, fmt.Errorf("list the workspace %s: %w", workspace, err)
		}
		if len(rows) == 0 {
			break
		}
		after = rows[len(rows)-1].Position
		kept = append(kept, slices.DeleteFunc(rows, func(row journal.Listed) bool {
			id := row.Conversation
			return conv.Reserved(id) || strings.HasPrefix(id, conv.SessionPrefix) || !b.Reaches(id)
		})...)
		if extra := len(kept) - limit; extra > 0 {
			kept = slices.Delete(kept, 0, extra)
		}
	}
	if workspace != auth.AnyWorkspace {
		return kept, nil
	}
	return b.keepInWorkspace(ctx, kept)
}

// keepInWorkspace returns the newest maxConversations rows that are in any workspace.
func (b *builder) keepInWorkspace(ctx context.Context, rows []journal.Listed) ([]journal.Listed, error) {
	var kept []journal.Listed
	for _, row := range slices.Backward(rows) {
		if len(kept) == maxConversations {
			break
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		created, err := b.readEvent(row.Conversation, 1)
		if err != nil {
			return nil, err
		}
		if created == nil || created.Type != parley.TypeSystem {
			continue
		}
		sys, err := created.System()
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", row.Conversation, err)
		}
		if sys.Workspace != "" {
			kept = append(kept, row)
		}
	}
	return kept, nil
}
