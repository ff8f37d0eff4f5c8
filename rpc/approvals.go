package rpc

import (
	"context"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
)

// getApproval may wait. What it answers may be large: while there is no room for the answer, it stays in the log and is not held in memory.
func getApproval(ctx context.Context, h *hub.Hub, p *hub.Principal, q *parley.GetApprovalParams, g gate) (encoder, error) {
	a, err := h.GetApproval(ctx, p, q)
	if err != nil {
		return nil, err
	}
	timedOut := a.TimedOut
	a = nil
	if err := g(ctx); err != nil {
		return nil, err
	}
	if a, err = h.GetApproval(ctx, p, &parley.GetApprovalParams{ApprovalID: q.ApprovalID}); err != nil {
		return nil, err
	}
	a.TimedOut = timedOut && !a.Status.Resolved()
	return func(b []byte) ([]byte, error) { return appendJSON(b, a) }, nil
}
