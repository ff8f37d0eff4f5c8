// Package hooks receives webhooks over HTTP and posts each delivery as a note of a conversation.
//
// A [Hook] has a name, a conversation, and the participant that posts there. The sender signs each
// delivery with one of the secrets of the hook, in the way of its [Scheme]. The body is the data of
// the note.
//
//   - A delivery is posted once, however often it is sent: its id is part of the key of the note.
//   - The answer 202 means that the note is in the log. The sender may repeat every other delivery.
//   - Without a valid signature nothing is posted and no detail is returned. A wrong signature and an
//     unknown hook have the same answer.
//   - A timestamp may be at most five minutes old, in every scheme that has one.
//   - The connection of an unsigned request is closed after the answer.
//   - Answers, errors and log lines never contain a secret.
package hooks
