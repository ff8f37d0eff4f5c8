package idempotency

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/fold/eventdata"
)

// DigestCreate identifies a call of createConversation. It covers neither the key nor the span of the call. It does not
// cover the private texts either, because every participant reads it.
func DigestCreate(q *parley.CreateConversationParams) string {
	c := *q
	c.ClientRequestID, c.Traceparent = "", ""
	c.Participants = slices.Clone(q.Participants)
	for i := range c.Participants {
		c.Participants[i].Private = ""
	}
	sum := sha256.Sum256(eventdata.Encode(c))
	return hex.EncodeToString(sum[:16])
}

// DigestFork identifies a call of forkConversation. It covers neither the key nor the span of the call.
func DigestFork(q *parley.ForkConversationParams) string {
	c := *q
	c.ClientRequestID, c.Traceparent = "", ""
	sum := sha256.Sum256(append([]byte("forkConversation\x00"), eventdata.Encode(c)...))
	return hex.EncodeToString(sum[:16])
}

// DigestPrivate identifies a private text. It stays in the hub, because a reader of it could test guesses.
func DigestPrivate(text string) [16]byte {
	if text == "" {
		return [16]byte{}
	}
	sum := sha256.Sum256([]byte(text))
	return [16]byte(sum[:16])
}

// DigestTexts identifies a list of texts.
func DigestTexts(texts ...string) [16]byte {
	d := sha256.New()
	for _, t := range texts {
		fmt.Fprintf(d, "%d:%s", len(t), t)
	}
	return [16]byte(d.Sum(nil)[:16])
}
