package quota_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley/internal/quota"
)

// TestQuota checks that a user gets at most its part, that all users together get at most the
// whole, and that idle users are deleted.
func TestQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := quota.New(10, 6)
		acquire := func(who string, n int64) (func(), error) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return q.Acquire(ctx, who, n)
		}
		a, err := acquire("a", 6)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := acquire("a", 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("more than one's part: %v", err)
		}
		b, err := acquire("b", 4)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := acquire("c", 1); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("more than there is: %v", err)
		}
		got := make(chan func())
		go func() {
			release, err := q.Acquire(context.Background(), "b", 2)
			if err != nil {
				t.Error(err)
			}
			got <- release
		}()
		synctest.Wait()
		a()
		(<-got)() // it waited for a's
		b()
		if n := q.Users(); n != 0 {
			t.Errorf("%d users are remembered", n)
		}
	})
}
