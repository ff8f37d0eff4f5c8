package hub

import (
	"context"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/check"
)

// RequestApproval requests an approval under a claim. It returns the approval that the turn already has
// for the same key.
func (h *Hub) RequestApproval(
	ctx context.Context, p *Principal, q *parley.RequestApprovalParams,
) (*parley.Approval, error) {
	return h.approvals.Request(ctx, p, q)
}

// GetApproval returns an approval. With a timeout it waits until the approval is resolved.
func (h *Hub) GetApproval(ctx context.Context, p *Principal, q *parley.GetApprovalParams) (*parley.Approval, error) {
	return h.approvals.Get(ctx, p, q)
}

// ListApprovals returns the approvals with a status that the caller may answer or requested, the oldest
// first. A page of resolved approvals may be empty although there is a next page.
func (h *Hub) ListApprovals(
	ctx context.Context, p *Principal, q *parley.ListApprovalsParams,
) (*parley.ListApprovalsResult, error) {
	return h.approvals.List(ctx, p, q)
}

// ResolveApproval answers a pending approval.
func (h *Hub) ResolveApproval(
	ctx context.Context, p *Principal, q *parley.ResolveApprovalParams,
) (*parley.Approval, error) {
	return h.approvals.Resolve(ctx, p, q)
}

func (c *client) RequestApproval(ctx context.Context, q *parley.RequestApprovalParams) (*parley.Approval, error) {
	q = orZero(q)
	if err := check.JSON(q.Details, 2); err != nil {
		return nil, err
	}
	if err := check.JSON(q.AnswerSchema, 2); err != nil {
		return nil, err
	}
	return read(c, ctx, func(ctx context.Context) (*parley.Approval, error) { return c.hub.RequestApproval(ctx, c.caller(), q) })
}

func (c *client) GetApproval(ctx context.Context, q *parley.GetApprovalParams) (*parley.Approval, error) {
	q = orZero(q)
	return read(c, ctx, func(ctx context.Context) (*parley.Approval, error) { return c.hub.GetApproval(ctx, c.caller(), q) })
}

func (c *client) ListApprovals(ctx context.Context, q *parley.ListApprovalsParams) (*parley.ListApprovalsResult, error) {
	q = orZero(q)
	return read(c, ctx, func(ctx context.Context) (*parley.ListApprovalsResult, error) {
		return c.hub.ListApprovals(ctx, c.caller(), q)
	})
}

func (c *client) ResolveApproval(ctx context.Context, q *parley.ResolveApprovalParams) (*parley.Approval, error) {
	q = orZero(q)
	if err := check.JSON(q.Answer, 2); err != nil {
		return nil, err
	}
	return read(c, ctx, func(ctx context.Context) (*parley.Approval, error) { return c.hub.ResolveApproval(ctx, c.caller(), q) })
}
