package hub

import (
	"context"

	"github.com/parleyhub/parley"
)

func (c *client) RequestApproval(ctx context.Context, q *parley.RequestApprovalParams) (*parley.Approval, error) {
	q = orZero(q)
	if err := checkJSON(q.Details, 2); err != nil {
		return nil, err
	}
	if err := checkJSON(q.AnswerSchema, 2); err != nil {
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
	if err := checkJSON(q.Answer, 2); err != nil {
		return nil, err
	}
	return read(c, ctx, func(ctx context.Context) (*parley.Approval, error) { return c.hub.ResolveApproval(ctx, c.caller(), q) })
}
