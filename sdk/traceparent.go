package sdk

import (
	"cmp"
	"context"

	"github.com/parleyhub/parley"
)

// under returns the traceparent of a call: own, or that of the context. A repeated call has the
// same one.
func under(ctx context.Context, own string) string { return cmp.Or(own, parley.TraceparentOf(ctx)) }
