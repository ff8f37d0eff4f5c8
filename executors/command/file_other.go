//go:build !unix

package command

// doNotWait is not supported here, and neither are named pipes.
const doNotWait = 0
