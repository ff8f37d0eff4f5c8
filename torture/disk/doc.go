// Package disk has the tests in which the disk of a real hub fails: every write, sync and truncate
// once, syncs that take long, a full disk, and files with other contents than were written.
//
// Afterwards a hub is started on the same files, and the results of all calls are compared with its
// log. Acknowledged events are in it, refused ones are not, and those with an unknown outcome are
// in it once or not at all. A repeated write with the same key returns the first result.
package disk
