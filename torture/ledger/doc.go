// Package ledger holds what callers of a hub, or of several, were told against the logs as they are
// at the end.
//
// Whoever says something keeps a Said for each key, and a reader a Seen. Once nobody waits for an
// answer any more the logs are read; a Ledger of them takes what everybody knows, one after
// another, and Kept says of each promise how hard it was tried and what broke it.
package ledger
