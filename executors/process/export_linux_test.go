package process

import "testing"

// WithoutSupervisors holds programs by their groups alone until the test has ended.
func WithoutSupervisors(t testing.TB) {
	before := supervised.Swap(false)
	t.Cleanup(func() { supervised.Store(before) })
}
