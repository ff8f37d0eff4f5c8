// Package hooks receives webhooks: HTTP deliveries of other systems become notes of conversations.
// [New] creates the HTTP handler.
//
// A hook has a name, a conversation and a participant that posts there. The sender signs each
// delivery according to Standard Webhooks (webhook-id, webhook-timestamp and webhook-signature)
// with one of the secrets of the hook. The body is the data of the note.
//
//   - A delivery is posted once, however often it is sent: its webhook-id is part of the key of the
//     note. The same id with another body is refused.
//   - A delivery is answered with 202 after its note is in the log. Everything else may be sent
//     again.
//   - Nothing is posted or revealed without a valid signature that is at most five minutes old. A
//     wrong signature and an unknown hook have the same response.
//   - Connections of senders without a valid signature are closed.
//   - No secret is in a response, an error or the log.
package hooks
