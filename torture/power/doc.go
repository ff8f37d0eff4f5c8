// Package power has the tests that end a real hub at any moment, under load: with SIGKILL, with
// SIGTERM, and with a power cut of the disk of its data. Other tests drop its answers.
//
// Sixty-four writers, eight readers, and clients that close conversations and add files continue
// through all of that, each with its own keys. At the end, their results are compared with the log
// and with the model of package history.
package power
