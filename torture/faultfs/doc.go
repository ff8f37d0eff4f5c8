// Package faultfs is a file system for tests. It shows a directory, counts the writes, and fails
// the chosen ones.
//
// Files can be mapped for reading. Writes reach the directory below at once, so it can be read
// there without the faults. The package requires Linux, root and /dev/fuse. Missing reports which
// of them is missing.
package faultfs
