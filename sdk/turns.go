package sdk

import (
	"context"
	"errors"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
)

// ClaimTurn claims a turn. The hub recognizes a repeated call by its claimId. A call without an id
// that is repeated after a lost answer can meet its own claim. Then it is refused, and that claim
// ends at its deadline.
func (c *Client) ClaimTurn(ctx context.Context, p *parley.ClaimTurnParams) (*parley.ClaimTurnResult, error) {
	q := value(p)
	defer c.claiming.Begin(q.ClaimID)()
	return call[parley.ClaimTurnResult](ctx, c, methods.ClaimTurn, q, keyed)
}

// RenewClaim extends a claim.
func (c *Client) RenewClaim(ctx context.Context, p *parley.RenewClaimParams) (*parley.RenewClaimResult, error) {
	return call[parley.RenewClaimResult](ctx, c, methods.RenewClaim, value(p), keyed)
}

// ReleaseClaim releases a claim. If a call is repeated after a lost answer and finds that the claim
// or its turn ended, it returns nil.
func (c *Client) ReleaseClaim(ctx context.Context, p *parley.ReleaseClaimParams) error {
	body, err := encode(value(p))
	if err != nil {
		return err
	}
	_, lost, err := c.insist(ctx, methods.ReleaseClaim, body)
	if gone := errors.Is(err, parley.ErrClaimLost) || errors.Is(err, parley.ErrTurnClosed) ||
		errors.Is(err, parley.ErrConversationClosed); lost &&
		gone {
		return nil
	}
	return err
}

// CancelTurn ends a turn without a final message. It makes one attempt. It returns ErrTurnClosed if
// the turn is over.
func (c *Client) CancelTurn(ctx context.Context, p *parley.CancelTurnParams) (*parley.SeqResult, error) {
	return call[parley.SeqResult](ctx, c, methods.CancelTurn, value(p), once)
}
