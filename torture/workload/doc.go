// Package workload has users of one hub or of several hubs: writers, readers and closers of
// conversations, who continue while the hubs are killed and started again. They record all that the
// hubs answer, so that a ledger.Ledger can compare it with the logs afterwards:
//
//	w := workload.New(t, hubs, workload.Config{Groups: 8, Writers: 8, Closers: 2})
//	w.Await(500, time.Minute) // then harm a hub, and start it again
//	w.Settle()
//	w.Check(ledger.New(t, logs))
//
// The conversations of a group follow each other: writers create the next one when the last one is
// closed. Package torture/power uses one hub that is killed, and package torture/cluster three hubs
// that share a log.
package workload
