package sdk

import (
	"context"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
)

// RequestApproval asks for an approval, and does not wait for the answer. It is repeated until there is one to the call: the hub knows it by its key.
func (c *Client) RequestApproval(ctx context.Context, p *parley.RequestApprovalParams) (*parley.Approval, error) {
	return call[parley.Approval](ctx, c, methods.RequestApproval, value(p), keyed)
}

// GetApproval tells how an approval stands; with TimeoutMs, when it is resolved, over any number of reconnects.
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

// ListApprovals gives a page of the approvals that the caller may answer or has asked for.
func (c *Client) ListApprovals(ctx context.Context, p *parley.ListApprovalsParams) (*parley.ListApprovalsResult, error) {
	return call[parley.ListApprovalsResult](ctx, c, methods.ListApprovals, value(p), always)
}

// ResolveApproval answers an approval that is pending. It always carries a key, so an answer that was given while its reply was lost is a duplicate, and not already resolved.
func (c *Client) ResolveApproval(ctx context.Context, p *parley.ResolveApprovalParams) (*parley.Approval, error) {
	q := value(p)
	q.ClientRequestID = key(q.ClientRequestID)
	return call[parley.Approval](ctx, c, methods.ResolveApproval, q, keyed)
}
