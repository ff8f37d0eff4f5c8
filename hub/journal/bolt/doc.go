// Package bolt keeps a journal in a directory, on bbolt.
//
// # Guarantees
//
// Those of package journal, and:
//
//   - One owner: a directory is open in one process at a time; a second Open fails within 2 s with journal.ErrInUse.
//   - Damage is named: a file that is truncated, or has pages, records or an end that are not what was written, is refused by
//     Open or by the call that meets it with a *journal.DamageError, never with a panic and never with other data.
//   - Disk full: a commit for which there is no room writes nothing and gets journal.ErrStorageFull; the next is tried again.
//   - Any other failure of a commit is journal.ErrOutcomeUnknown. The journal then takes no more writes (Err says why) until it is
//     opened again; reads continue and show only what was known to be durable.
//   - Memory is bounded, however many conversations there are.
//
// # The directory
//
//	FORMAT     "parley journal 1": written last when a directory is made, read first
//	LOCK       locked while the directory is open
//	log.db     the truth: every record, in commit order
//	index.db   derived from log.db up to a checkpoint: where each conversation's records are, heads, lists, saved states.
//	           Missing, damaged or foreign, it is made again by Open
//	blobs/     one file per blob, named by its SHA-256
//	.tmp-*     what is being made; Open removes it
//
// In log.db the bucket "log" has the key position (8 bytes, big-endian) and a record as value (record.go). Keys only grow, so a commit
// rewrites one leaf and its path. The bucket's sequence is the last position: a lost end shows.
//
// # What Open reads
//
// Of log.db the branches, the last leaf and the free list, and the records that index.db does not have. Of index.db everything but the
// values of saved states: an entry that is damaged is found before it is asked for. A record, a blob and a saved state are checked
// whenever they are read. So Open takes the time of reading a few bytes per record, however long the records and the states are.
//
// # Goroutines
//
// The committer drains the queue into one transaction after another. It calls Done before it takes more batches, so that what Done
// submits is part of the next commit. The flusher brings index.db up to date, every CheckpointRecords records or CheckpointInterval; what is not in there
// yet is in memory and found again by Open from the end of log.db. Close waits for all of them. Open reads both files at once, and hashes
// on all processors; it waits for what it has started.
package bolt
