//go:build !planted

package hubproc

// tags are those with which the program is built.
const tags = ""
