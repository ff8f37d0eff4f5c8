// Package hooks takes webhooks: what others send over HTTP becomes notes of conversations.
//
// A hook is a name, a conversation and the participant who posts there. Who sends signs each delivery as Standard Webhooks say (webhook-id, webhook-timestamp and
// webhook-signature), with one of the hook's secrets. The body is the data of the note.
//
//   - A delivery is posted once, however often it comes: its webhook-id is a part of the note's key. The same id with another body is refused.
//   - A delivery is answered with 202 when its note is in the log, and not before. Everything else may be sent again.
//   - Nothing is posted, and nothing is told, without a good signature that is not older than five minutes: a wrong one and a name that no hook has are answered alike.
//   - Who has not signed keeps no connection open.
//   - No secret stands in an answer, an error or the log.
package hooks
