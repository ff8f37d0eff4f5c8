package process

import "testing"

// WithoutSupervisors disables supervisors until the test ends.
func WithoutSupervisors(t testing.TB) {
	before := supervised.Swap(false)
	t.Cleanup(func() { supervised.Store(before) })
}
