//go:build newerformat

package jetstream

// messageVersion is one higher than in a program that is built as usual. Messages of it have the same layout: so tests have a newer version of the program, and see that the older
// one does not read what it writes.
const messageVersion = 2
