package sdk

import (
	"cmp"
	"context"

	"github.com/parleyhub/parley"
)

// under gives the traceparent of a call: the one among its params, else that of the context. A call that is made again has the same.
func under(ctx context.Context, own string) string { return cmp.Or(own, parley.TraceparentOf(ctx)) }
