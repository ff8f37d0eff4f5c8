// Package simulation plays a whole hub, its doors and its clients in one bubble of
// testing/synctest, over a journal and a network in memory, and breaks both.
//
// A seed draws the plan: what each client does, and when the hub is killed, drained, or cannot
// write, when its storage is full, when the answer to a commit is lost, which connection is cut
// after how many bytes, and when everybody rests for minutes. Time is not real, so a minute costs
// nothing and a wait that oversleeps shows at once. Only the order of what happens at the same
// instant, and the jitter of backoff, are not the seed's: a seed shows the plan again, and not
// every step of it.
//
// Afterwards the logs are held against all that the clients were told.
package simulation
