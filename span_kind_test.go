package parley_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/parleyhub/parley"
)

// TestErrorKind: a span has the name of an error, and never its text.
func TestErrorKind(t *testing.T) {
	for want, err := range map[string]error{
		"claim_lost": fmt.Errorf("renew: %w", parley.ErrClaimLost),
		"internal":   parley.Refuse(parley.ErrInternal, "a secret", ""),
		"canceled":   fmt.Errorf("ask: %w", context.DeadlineExceeded),
		"error":      errors.New("a secret"),
	} {
		if got := parley.ErrorKind(err); got != want {
			t.Errorf("%v: %q, expected %q", err, got, want)
		}
	}
}
