package sdk

import (
	"context"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
)

// RequestApproval requests an approval and does not wait for its resolution. The call is repeated
// until the hub answers it. The hub recognizes it by its key.
func (c *Client) RequestApproval(ctx context.Context, p *parley.RequestApprovalParams) (*parley.Approval, error) {
	return call[parley.Approval](ctx, c, methods.RequestApproval, value(p), keyed)
}

// GetApproval returns the state of an approval. With TimeoutMs it waits until the approval is
// resolved, over any number of reconnects.
func (c *Client) GetApproval(ctx context.Context, p *parley.GetApprovalParams) (*parley.Approval, error) {
	q := value(p)
	if q.TimeoutMs <= 0 {
		return call[parley.Approval](ctx, c, methods.GetApproval, q, always)
	}
	var a *parley.Approval
	err := c.wait(q.TimeoutMs, func(ms int64) (_ bool, err error) {
		q.TimeoutMs = ms
		a, err = callVia[parley.Approval](ctx, c, c.enterWait, methods.GetApproval, q, always)
		return err == nil && a.TimedOut, err
	})
	return a, err
}

// ListApprovals returns a page of the approvals that the caller may answer or has requested.
func (c *Client) ListApprovals(
	ctx context.Context,
	p *parley.ListApprovalsParams,
) (*parley.ListApprovalsResult, error) {
	return call[parley.ListApprovalsResult](ctx, c, methods.ListApprovals, value(p), always)
}

// ResolveApproval answers a pending approval. It always has a key. So if an answer succeeds and its
// reply is lost, the repeated call returns a duplicate instead of ErrAlreadyResolved.
func (c *Client) ResolveApproval(ctx context.Context, p *parley.ResolveApprovalParams) (*parley.Approval, error) {
	q := value(p)
	q.ClientRequestID = key(q.ClientRequestID)
	return call[parley.Approval](ctx, c, methods.ResolveApproval, q, keyed)
}
