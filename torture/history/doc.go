// Package history judges what callers of a hub were told of a conversation: whether all of it can have happened, each call at one moment between its
// begin and its end, with seqs that grow by one. Package turnmodel does the same for turns.
//
// Callers write their calls into a Recorder. A call that got no answer stays in it as one that may have happened, at any later time. Check holds the calls
// and the log, as it is at the end, against a model that knows little: a list that only grows, and an end after which it does not.
package history
