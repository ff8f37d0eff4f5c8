// Package turns dispatches the turns of agents. A [Dispatcher] observes every commit, offers turns to
// executors, tracks the holder of each claim, and ends what is overdue. It does not write to the log
// itself: it issues commands, as callers do. All of its state is in memory and is rebuilt from the logs
// after a restart.
//
// The rules are in package desk, which is pure. A Dispatcher adds the executors, their connections and
// time.
//
// # Types
//
//	| type | owns |
//	|---|---|
//	| records | the turns that are claimed or offered, each with a desk, and the open conversations |
//	| queues | the conversations that wait for an executor, by demand |
//	| executors | the connected executors, their load and the offers that they have |
//	| claims | the current claims and their holders |
//	| Connection | the claims that were taken on one connection |
//	| recovery | the load of all open conversations after a start |
//	| spans | the spans of turns |
//
// A Dispatcher passes what one of them changes to the others.
//
// # Goroutines
//
//	| goroutine | started by | does |
//	|---|---|---|
//	| Recover | the hub | loads every open conversation once |
//	| Run | the hub | steps the desks whose time is due |
//	| a registration | RegisterExecutor | waits until all claims are known |
//
// # Locks
//
// Dispatcher.mu guards records, queues, executors and claims together, because one commit changes all of
// them. It is taken after the mutex of a conversation, never before it. Connection.mu is taken after
// Dispatcher.mu. The notify functions of connections and [Runners] are called with Dispatcher.mu held,
// so they must not block.
package turns
