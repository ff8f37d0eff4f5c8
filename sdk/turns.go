package sdk

import (
	"context"
	"errors"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
)

// ClaimTurn takes a turn. The hub recognizes a repeated one by its claimId. One without an id that was repeated, because the answer was lost, may meet its own claim,
// and is refused then; that claim ends by its deadline.
func (c *Client) ClaimTurn(ctx context.Context, p *parley.ClaimTurnParams) (*parley.ClaimTurnResult, error) {
	q := value(p)
	defer c.claiming.Begin(q.ClaimID)()
	return call[parley.ClaimTurnResult](ctx, c, methods.ClaimTurn, q, keyed)
}

// RenewClaim keeps a claim for longer.
func (c *Client) RenewClaim(ctx context.Context, p *parley.RenewClaimParams) (*parley.RenewClaimResult, error) {
	return call[parley.RenewClaimResult](ctx, c, methods.RenewClaim, value(p), keyed)
}

// ReleaseClaim gives a claim back. One that was repeated, because the answer was lost, and finds that the claim or its turn has ended has done its work.
func (c *Client) ReleaseClaim(ctx context.Context, p *parley.ReleaseClaimParams) error {
	body, err := encode(value(p))
	if err != nil {
		return err
	}
	_, lost, err := c.insist(ctx, methods.ReleaseClaim, body)
	if gone := errors.Is(err, parley.ErrClaimLost) || errors.Is(err, parley.ErrTurnClosed) || errors.Is(err, parley.ErrConversationClosed); lost && gone {
		return nil
	}
	return err
}

// CancelTurn ends a turn without a final message. It is tried once: a turn that was canceled is ErrTurnClosed.
func (c *Client) CancelTurn(ctx context.Context, p *parley.CancelTurnParams) (*parley.SeqResult, error) {
	return call[parley.SeqResult](ctx, c, methods.CancelTurn, value(p), once)
}
