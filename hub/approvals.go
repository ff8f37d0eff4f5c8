package hub

import (
	"context"

	"github.com/parleyhub/parley"
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
