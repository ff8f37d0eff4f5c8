//go:build !planted

package plant

// Planted reports whether the program has the bug: it has none.
func (b Bug) Planted() bool { return false }

// Env gives nothing: there is no bug to pass on.
func Env() []string { return nil }
