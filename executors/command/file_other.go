//go:build !unix

package command

// doNotWait is not known here, and neither are pipes with a name in a directory.
const doNotWait = 0
