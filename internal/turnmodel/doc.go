// Package turnmodel judges histories of calls about turns: whether what callers were told can have happened, each call at one moment
// between its begin and its end.
//
// The model of a conversation is small on purpose: which turn is current, and which claim stands in it. A hub may end a claim at any moment,
// because time is not a part of the model; but a claim that has ended never speaks again, and a turn that has ended takes nothing. What
// the log says is no part of the judgement but for the seqs that callers were told: those grow.
package turnmodel
