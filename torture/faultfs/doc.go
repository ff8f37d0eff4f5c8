// Package faultfs is a file system for tests: it lies over a directory, counts what is written
// there, and fails where it is told to.
//
// Files can be mapped for reading. What a program has written is in the directory below at once, so
// that it can be read there without the faults. It needs Linux, root and /dev/fuse: Missing says
// what of it is not there.
package faultfs
