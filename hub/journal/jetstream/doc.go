// Package jetstream keeps a journal that many hubs share, on NATS JetStream.
//
// # Guarantees
//
// Those of package journal, on every node, and:
//
//   - One order: every node has the same records at the same positions. Batches of two nodes can never both follow one head.
//   - Durable on ack: Open refuses a stream whose servers may acknowledge what a loss of power takes away again. What Done is called for without error is on the disks of the
//     server that keeps the stream, or of most of them.
//   - A node may be behind: what it reads is what was committed, up to some place. A batch without events (a check) tells whether a head is the head; a refusal always rests
//     on the head at a time after Submit.
//   - Servers away: while the servers do not answer, batches get journal.ErrUnavailable after Options.Patience, and nothing of them was written; reads go on; Ready says why. A
//     batch that was published before that waits for its outcome, with those of its conversation behind it. When the servers answer again the node goes on by itself.
//     Only if the journal is closed before that does Done get journal.ErrOutcomeUnknown.
//   - Damage is named: a message that is missing, damaged, of another version, or that rests on other records than this node has ends the journal (Ready says why); what is before
//     it can be read. Nothing is left out.
//   - The replica is derived: a directory that is deleted, damaged or was open when the power was lost is made again from the stream by Open. One that belongs to another
//     stream, or that has more than the stream, is refused: it may be all that is left.
//
// # Decided where it lands
//
//	node:  Submit -> queue -> plan on the replica's heads -> one message -> ... the stream ... -> every node: decide, apply to the replica -> Done
//
// There is one stream with one subject. A message carries batches of any conversations, and says for each conversation the head, seq and hash, that its batches rest on. Nobody
// decides when it is published: every node, at the message's place in the stream, takes the batches of those conversations whose head is still that one, and drops the others. All
// nodes do so on the same records, so all come to the same. The node that has published the message learns the outcome in the same way, and decides again what was dropped: a
// batch whose own head has moved is refused, others go on.
//
// This has consequences:
//
//   - Conversations do not stand in each other's way, whatever node they are on. There are no shards, and nobody has to be preferred.
//   - A message may be published twice. The heads that it rests on were committed when it was made; heads only move on, so its second copy comes to nothing. After a lost
//     acknowledgement the node publishes the same bytes again until one copy is acknowledged and one has landed: the first that lands is the outcome.
//   - Applying a part of the stream again changes nothing. How far it was applied is noted lazily.
//   - A check is decided like a batch, at the place of the node's next message, which may be empty.
//   - A hash that differs at the same seq shows that two nodes, or the stream, do not have the same records any more.
//
// One message of a node is on its way at a time; what comes meanwhile is together in the next. So a sync of the servers is shared by all that wait, as in package bolt.
//
// # In the account
//
//	NAME         the stream: subject NAME.log, kept for ever (no limits, no deletes, no purge); metadata parley.format and parley.id
//	NAME-blobs   blobs in pieces, subjects NAME.blob.HASH.*: one message each. The parts of a message that are too large for it are blobs too
//	NAME.peers   between nodes, stored nowhere (Peers)
//
// A user of the account needs to publish and subscribe to NAME.>, and the JetStream API for these two streams.
//
// # Goroutines
//
// The committer plans, publishes and waits, and calls Done before it takes more batches. The follower applies the stream; it is fed by the library's consumer. Health asks every second
// where the stream ends, and changes the server if it does not answer. Close waits for all of them.
package jetstream
