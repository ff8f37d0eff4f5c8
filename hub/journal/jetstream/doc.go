// Package jetstream has a journal that hubs share, on NATS JetStream.
//
// # Guarantees
//
// Those of package journal, on every node, and:
//
//   - One order: every node has the same records at the same positions. Batches of two nodes never
//     follow the same head.
//   - Durable on acknowledgement: Open refuses a stream whose servers may acknowledge what a power
//     loss removes. When Done is called without an error, the batch is on the disk of the server
//     that stores the stream, or of most of them.
//   - A node may be behind: it reads what was committed up to some position. A batch without events
//     (a check) reports whether a head is current. A refusal depends on the head at a time after
//     Submit.
//   - Servers away: while the servers do not answer, batches get journal.ErrUnavailable after
//     Options.Patience, and nothing of them was written. Reads work, and Ready returns the reason.
//     A batch that was published before waits for its outcome, as do those behind it in its
//     conversation. The node continues when the servers answer again. Done gets
//     journal.ErrOutcomeUnknown only if the journal is closed before that.
//   - Damage is reported: a message that is missing, damaged, of another version, or based on other
//     records than those of this node ends the journal, and Ready returns the reason. The records
//     before it can be read. No message is skipped.
//   - The replica is derived: Open restores a directory from the stream if it is missing, damaged,
//     or was open at a power loss. Open refuses a directory of another stream, or one that has more
//     than the stream, because it may be the only copy.
//
// # Decided where it lands
//
//	node:  Submit -> queue -> plan on the replica's heads -> one message -> ... the stream ... -> every node: decide, apply to the replica -> Done
//
// There is one stream with one subject. A message has batches of any conversations. For each
// conversation it names the head (seq and hash) on which its batches are based. Nothing is decided
// when it is published. At the position of the message in the stream, every node accepts the
// batches of the conversations whose head is still that one, and drops the others. All nodes do so
// on the same records, so the results are equal. The node that published the message learns the
// outcome in the same way, and decides dropped batches again. A batch whose own head moved is
// refused.
//
// This has consequences:
//
//   - Conversations do not block each other, on any node. There are no shards, and no node is
//     preferred.
//   - A message may be published twice. Its heads were committed when it was made, and heads only
//     move forward, so the second copy has no effect. After a lost acknowledgement the node
//     publishes the same bytes again, until one copy is acknowledged and one landed. The first one
//     that lands determines the outcome.
//   - Applying a part of the stream again changes nothing. The applied position is saved lazily.
//   - A check is decided like a batch, at the position of the node's next message, which may be
//     empty.
//   - A different hash at the same seq shows that two nodes, or the stream, no longer have the same
//     records.
//
// A node has one message under way at a time, and the batches that come meanwhile share the next
// one. So they share a sync of the servers, as in package bolt.
//
// # In the account
//
//	NAME         the stream: subject NAME.log, kept for ever (no limits, no deletes, no purge); metadata parley.format and parley.id
//	NAME-blobs   blobs in pieces, subjects NAME.blob.HASH.*: one message each; also the parts of a message that are too large for it
//	NAME.peers   between nodes, stored nowhere (Peers)
//
// A user of the account needs to publish and subscribe to NAME.>, and the JetStream API for these
// two streams.
//
// # Goroutines
//
// The committer plans, publishes and waits, and calls Done before it takes more batches. The
// follower applies the stream, which the consumer of the library delivers. Health asks every second
// for the end of the stream, and changes the server if it does not answer. Close waits for all of
// them.
package jetstream
