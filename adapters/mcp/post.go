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
	ConversationID  string `json:"conversation_id" jsonschema:"id of the conversation"`
	Text            string `json:"text" jsonschema:"the text of the message"`
	SinceSeq        *int64 `json:"since_seq,omitempty"`
	Finality        string `json:"finality,omitempty" jsonschema:"turn ends your turn; none keeps it for another message"`
	To              string `json:"to,omitempty"`
	Data            any    `json:"data,omitempty" jsonschema:"JSON data for programs, in addition to the text"`
	ClientRequestID string `json:"client_request_id,omitempty"`
}

// maxPostChars limits a text. The hub limits the bytes of the event.
const maxPostChars = 500_000

func refinePost(a *arguments) {
	a.textLength(1, 64, "conversation_id")
	a.textLength(1, maxPostChars, "text")
	a.textLength(0, 64, "to")
	a.textLength(0, parley.MaxKeyBytes, "client_request_id")
	a.nonNegative("since_seq")
	a.oneOf("finality", "turn", "none")
	a.describe("since_seq", "the since_seq of the last result that you have read: "+
		"if another participant has posted after it, nothing is posted. Without it, the text is posted in any case")
	a.describe("to", "the next speaker, if the policy of the conversation is addressed or moderator; only with finality "+
		"turn")
	a.describe("client_request_id", "a key of your choice for this message: calls with the same key post once. "+
		"The default is a hash of the arguments, so the same text at the same since_seq is posted once. "+
		"To post it twice, pass another key. Without since_seq there is no default")
}

type postResult struct {
	ConversationID string `json:"conversation_id"`
	Seq            int64  `json:"seq" jsonschema:"seq of the message"`
	Turn           int64  `json:"turn"`
	Duplicate      bool   `json:"duplicate" jsonschema:"true if an earlier call with the same key posted it"`
	SinceSeq       int64  `json:"since_seq" jsonschema:"pass this to the next call"`
	Next           string `json:"next"`
}

func (p *postResult) text() string {
	s := fmt.Sprintf("Posted as #%d in turn %d.", p.Seq, p.Turn)
	if p.Duplicate {
		s = fmt.Sprintf("An earlier call with the same key posted this as #%d in turn %d; this call had no effect.", p.Seq,
			p.Turn)
	}
	return s + "\n" + p.Next
}

func postMessage(ctx context.Context, c *call, in *postArgs) (*postResult, error) {
	h := hints{conversation: in.ConversationID, key: in.ClientRequestID, look: fmt.Sprintf("read_conversation {conversation_id: %q}", in.ConversationID)}
	if in.SinceSeq != nil {
		h.since, h.once = *in.SinceSeq, true
	}
	payload, err := messagePayload(in.Text, in.Data)
	if err != nil {
		return nil, explain(err, h)
	}
	if in.Finality == string(parley.FinalityNone) {
		if err := c.checkMayKeepTurn(ctx, in.ConversationID); err != nil {
			return nil, explain(err, h)
		}
	}
	p := &parley.SendMessageParams{
		ConversationID: in.ConversationID, Payload: payload, Finality: parley.Finality(in.Finality), AfterSeq: in.SinceSeq,
		ClientRequestID: in.ClientRequestID,
	}
	if in.SinceSeq != nil {
		p.ClientRequestID = idempotencyKey(in.ClientRequestID, in.ConversationID, *in.SinceSeq, in.Finality, in.To, payload)
	}
	if in.To != "" {
		p.TurnHint = &parley.TurnHint{Next: in.To}
	}
	r, err := c.client.SendMessage(ctx, p)
	if err != nil {
		return nil, explain(err, h)
	}
	out := &postResult{ConversationID: in.ConversationID, Seq: r.Seq, Turn: r.Turn, Duplicate: r.Duplicate,
		SinceSeq: r.Seq}
	switch {
	case r.Duplicate: // other participants may have posted since
		out.Next = fmt.Sprintf("To post it again, pass another client_request_id. Otherwise: wait_for_updates "+
			"{conversation_id: %q, since_seq: %d}.", in.ConversationID, r.Seq)
	case in.Finality == string(parley.FinalityNone):
		out.Next = fmt.Sprintf("Your turn continues: post_message {conversation_id: %q, since_seq: %d, ...}; end it with "+
			"finality turn.", in.ConversationID, r.Seq)
	default:
		out.Next = fmt.Sprintf("Next: wait_for_updates {conversation_id: %q, since_seq: %d}.", in.ConversationID, r.Seq)
	}
	return out, nil
}

// checkMayKeepTurn refuses finality none on a seat that works under claims. The adapter does not
// renew claims, so the hub would withdraw the message.
func (c *call) checkMayKeepTurn(ctx context.Context, id string) error {
	s, err := c.client.GetConversation(ctx, &parley.GetConversationParams{ConversationID: id, Limit: 1})
	if err != nil {
		return err
	}
	for _, p := range s.Participants {
		if p.ID == c.client.AgentID() && p.Kind.Claims() {
			return parley.Refuse(parley.ErrValidationFailed,
				fmt.Sprintf("your seat has the kind %s, whose turns have one message each over MCP", p.Kind),
				"finality turn, with the whole text in one message")
		}
	}
	return nil
}

// messagePayload returns the payload of a message.
func messagePayload(text string, data any) (json.RawMessage, error) {
	m := parley.Message{Text: text}
	if data != nil {
		raw, err := json.Marshal(data)
		if err != nil {
			return nil, parley.Refuse(parley.ErrValidationFailed, "data is not valid JSON", "any JSON value")
		}
		m.Data = raw
	}
	raw, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("%w: encode a message: %w", parley.ErrInternal, err)
	}
	return raw, nil
}

// idempotencyKey returns the key of the caller, or a hash of parts, so that a repeated call is
// recognized.
func idempotencyKey(given string, parts ...any) string {
	if given != "" {
		return given
	}
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%v\x00", p)
	}
	return "mcp-" + hex.EncodeToString(h.Sum(nil)[:16])
}
