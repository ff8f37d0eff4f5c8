package hub

import (
	"cmp"
	"context"

	"github.com/parleyhub/parley"
)

// checkTraceparent refuses what is none; empty says nothing.
func checkTraceparent(s string) error {
	if s == "" || parley.ValidTraceparent(s) {
		return nil
	}
	return parley.Refuse(parley.ErrValidationFailed, "traceparent is not one", "a traceparent of W3C Trace Context, version 00")
}

// under gives the traceparent of a call: its own, else that of the context.
func under(ctx context.Context, own string) string { return cmp.Or(own, parley.TraceparentOf(ctx)) }
