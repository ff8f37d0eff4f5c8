// Package power holds the tests that end a real hub at any moment, under load: by kill -9, by
// SIGTERM, and by a cut of the power to the disk that its data lies on; or that take away what it
// has answered.
//
// Sixty-four writers, eight readers, some who close conversations and some who bring files go on
// over all of it, each with the keys that it has begun with. What they were told is held against
// the log at the end, and against the model of package history.
package power
