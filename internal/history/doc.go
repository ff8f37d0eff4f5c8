// Package history checks recorded calls against a model of a conversation. A history is correct if
// an order of the calls explains all answers. In this order, each call takes effect at one moment
// between its begin and its end.
//
// There are two models over one checker:
//
//   - CheckTurns has the current turn and its claim. The hub may end a claim at any moment, because
//     the model has no clock. A claim that ended never speaks again, and a turn that ended takes
//     nothing. Seqs grow.
//   - CheckLogs has the log: a list that only grows, and a close after which it does not. The calls
//     must fit the log as it is after all calls.
//
// Callers write their calls into a Recorder. A call without an answer stays in the history as one
// that may take effect at any later time.
package history
