package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/parleyhub/parley"
)

type postArgs struct {
	ConversationID  string `json:"conversation_id" jsonschema:"which conversation"`
	Text            string `json:"text" jsonschema:"what you say"`
	SinceSeq        int64  `json:"since_seq" jsonschema:"the since_seq of the last result that you have read: if another has spoken after it, nothing is posted"`
	Finality        string `json:"finality,omitempty" jsonschema:"turn ends your turn; none keeps it, for another message"`
	To              string `json:"to,omitempty" jsonschema:"who shall be next, in conversations whose policy is addressed or moderator; only with finality turn"`
	Data            any    `json:"data,omitempty" jsonschema:"JSON for programs, beside the text"`
	ClientRequestID string `json:"client_request_id,omitempty" jsonschema:"a key of your choice for this message: the same call with the same key posts once. Without it, it is made of the conversation, since_seq and what is said, so that the same words at the same since_seq are posted once: to say them twice give another"`
}

// maxPostChars bounds a text here; the hub counts bytes of the whole event.
const maxPostChars = 500_000

func refinePost(a *arguments) {
	a.length(1, 64, "conversation_id")
	a.length(1, maxPostChars, "text")
	a.length(0, 64, "to")
	a.length(0, parley.MaxKeyBytes, "client_request_id")
	a.since("since_seq")
	a.oneOf("finality", "turn", "none")
}

type posted struct {
	ConversationID string `json:"conversation_id"`
	Seq            int64  `json:"seq" jsonschema:"the place of the message in the conversation"`
	Turn           int64  `json:"turn"`
	Duplicate      bool   `json:"duplicate" jsonschema:"it had been posted before, by an earlier call with the same key"`
	SinceSeq       int64  `json:"since_seq" jsonschema:"give this to the next call"`
	Next           string `json:"next"`
}

func (p *posted) text() string {
	s := fmt.Sprintf("Posted as #%d in turn %d.", p.Seq, p.Turn)
	if p.Duplicate {
		s = fmt.Sprintf("It was posted before, as #%d in turn %d, by an earlier call with the same key; nothing was posted now.", p.Seq, p.Turn)
	}
	return s + "\n" + p.Next
}

func postMessage(ctx context.Context, c *call, in *postArgs) (*posted, error) {
	h := hints{conversation: in.ConversationID, since: in.SinceSeq, key: in.ClientRequestID, once: true}
	payload, err := messageOf(in.Text, in.Data)
	if err != nil {
		return nil, explained(err, h)
	}
	if in.Finality == string(parley.FinalityNone) {
		if err := c.mayGoOn(ctx, in.ConversationID); err != nil {
			return nil, explained(err, h)
		}
	}
	p := &parley.SendMessageParams{
		ConversationID: in.ConversationID, Payload: payload, Finality: parley.Finality(in.Finality), AfterSeq: &in.SinceSeq,
		ClientRequestID: keyOf(in.ClientRequestID, in.ConversationID, in.SinceSeq, in.Finality, in.To, payload),
	}
	if in.To != "" {
		p.TurnHint = &parley.TurnHint{Next: in.To}
	}
	r, err := c.client.SendMessage(ctx, p)
	if err != nil {
		return nil, explained(err, h)
	}
	out := &posted{ConversationID: in.ConversationID, Seq: r.Seq, Turn: r.Turn, Duplicate: r.Duplicate, SinceSeq: r.Seq}
	switch {
	case r.Duplicate: // others may have spoken since
		out.Next = fmt.Sprintf("To say it once more: the same call with another client_request_id. Else: wait_for_updates {conversation_id: %q, since_seq: %d}.", in.ConversationID, r.Seq)
	case in.Finality == string(parley.FinalityNone):
		out.Next = fmt.Sprintf("Your turn goes on: post_message {conversation_id: %q, since_seq: %d, ...}; end it with finality turn.", in.ConversationID, r.Seq)
	default:
		out.Next = fmt.Sprintf("Next: wait_for_updates {conversation_id: %q, since_seq: %d}.", in.ConversationID, r.Seq)
	}
	return out, nil
}

// mayGoOn refuses to leave a turn open for a seat that works under claims: nobody here would renew the claim, and with it what was said would be withdrawn.
func (c *call) mayGoOn(ctx context.Context, id string) error {
	s, err := c.client.GetConversation(ctx, &parley.GetConversationParams{ConversationID: id, Limit: 1})
	if err != nil {
		return err
	}
	for _, p := range s.Participants {
		if p.ID == c.client.AgentID() && p.Kind.Claims() {
			return parley.Refuse(parley.ErrValidationFailed, fmt.Sprintf("your seat is of kind %s, and its turns over MCP are one message each", p.Kind), "finality turn, with all that you have to say")
		}
	}
	return nil
}

// messageOf makes the payload of a message.
func messageOf(text string, data any) (json.RawMessage, error) {
	m := parley.Message{Text: text}
	if data != nil {
		raw, err := json.Marshal(data)
		if err != nil {
			return nil, parley.Refuse(parley.ErrValidationFailed, "data is no JSON", "any JSON value")
		}
		m.Data = raw
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("%w: encode a message: %w", parley.ErrInternal, err)
	}
	return raw, nil
}

// keyOf gives the key of a write: that of the caller, or one of what is written and where, so that a call that a client makes again is found.
func keyOf(given string, parts ...any) string {
	if given != "" {
		return given
	}
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%v\x00", p)
	}
	return "mcp-" + hex.EncodeToString(h.Sum(nil)[:16])
}
