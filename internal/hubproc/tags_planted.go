//go:build planted

package hubproc

// tags are those with which the program is built: that of package plant, as the tests were built with it.
const tags = planted
