//go:build !newerformat

package jetstream

// messageVersion is the version of the layout that messages are written in, and the newest that is read.
const messageVersion = 1
