//go:build !linux

package runner

// HideEnvironment does nothing: these systems do not show the environment of a process to other
// users.
func HideEnvironment() error { return nil }
