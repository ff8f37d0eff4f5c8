// Package ledger compares the results of the callers of one or more hubs with the logs at the end.
//
// Each writer keeps a Said for each key, and each reader a Seen. When no call is in progress, the
// logs are read. A Ledger of them receives the records one after another. Kept returns, for each
// promise, how often it was tested and what broke it.
package ledger
