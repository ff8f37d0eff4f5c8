// Package disk holds the tests in which the disk below a real hub fails: every write, sync and
// truncate once in turn, syncs that take long, no room, and files that are not what was written.
//
// What every caller was told is held against the log of the hub that was started on the same files
// afterwards: what was acknowledged is there, what was refused is not, what was left open is there
// once or not at all, and a retry with the same key meets the first.
package disk
