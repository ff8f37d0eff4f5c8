package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

type listArgs struct {
	Status string `json:"status,omitempty" jsonschema:"list only conversations with this status"`
	Limit  int    `json:"limit,omitempty" jsonschema:"maximum number of conversations"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next_cursor of the previous page"`
}

func refineList(a *arguments) {
	a.argument("status").Enum = []any{"active", "closed"}
	a.numberRange("limit", 1, 100, 50)
	a.textLength(0, 256, "cursor")
}

type conversationList struct {
	Conversations []conversationRow `json:"conversations"`
	NextCursor    string            `json:"next_cursor,omitempty" jsonschema:"present if there is another page"`
	Next          string            `json:"next" jsonschema:"the call to make next"`
}

type conversationRow struct {
	ConversationID string   `json:"conversation_id"`
	Title          string   `json:"title,omitempty"`
	Status         string   `json:"status"`
	CreatedBy      string   `json:"created_by"`
	Participants   []string `json:"participants"`
	LatestSeq      int64    `json:"latest_seq"`
	Turn           int64    `json:"turn"`
}

func listConversations(ctx context.Context, c *call, in *listArgs) (*conversationList, error) {
	r, err := c.client.ListConversations(ctx, &parley.ListConversationsParams{Status: parley.Status(in.Status),
		Limit: in.Limit, Cursor: in.Cursor})
	if err != nil {
		return nil, explain(err, hints{})
	}
	out := &conversationList{Conversations: []conversationRow{}, NextCursor: r.NextCursor}
	for _, s := range r.Conversations {
		row := conversationRow{ConversationID: s.ConversationID, Title: s.Title, Status: string(s.Status),
			CreatedBy: s.CreatedBy, Participants: s.Participants, LatestSeq: s.LatestSeq, Turn: s.Turn}
		if row.Participants == nil {
			row.Participants = []string{}
		}
		out.Conversations = append(out.Conversations, row)
	}
	switch {
	case r.NextCursor != "":
		out.Next = "There are more: " + in.nextPage(r.NextCursor) + "."
	case len(out.Conversations) > 0:
		out.Next = "Next: wait_for_updates or read_conversation with one of the ids."
	default:
		out.Next = "There are no more conversations."
	}
	return out, nil
}

// nextPage returns the call that reads the next page with the same filter.
func (in *listArgs) nextPage(cursor string) string {
	s := "list_conversations {"
	if in.Status != "" {
		s += fmt.Sprintf("status: %q, ", in.Status)
	}
	if in.Limit > 0 {
		s += fmt.Sprintf("limit: %d, ", in.Limit)
	}
	return s + fmt.Sprintf("cursor: %q}", cursor)
}

func (l *conversationList) text() string {
	var b strings.Builder
	for _, c := range l.Conversations {
		fmt.Fprintf(&b, "%s %q: %s, turn %d, %d events, between %s\n", c.ConversationID, c.Title, c.Status, c.Turn,
			c.LatestSeq, strings.Join(c.Participants, ", "))
	}
	if len(l.Conversations) == 0 {
		b.WriteString("No conversations. ")
	}
	return b.String() + l.Next
}

type createArgs struct {
	Title           string     `json:"title,omitempty" jsonschema:"title for people"`
	Participants    []seatArgs `json:"participants" jsonschema:"the participants, in the order of their turns"`
	Policy          string     `json:"policy,omitempty"`
	Moderator       string     `json:"moderator,omitempty"`
	StartsWith      string     `json:"starts_with,omitempty" jsonschema:"first speaker (default: the first participant)"`
	ClientRequestID string     `json:"client_request_id,omitempty"`
}

type seatArgs struct {
	ID    string `json:"id" jsonschema:"participant id: letters, digits, . _ -"`
	Kind  string `json:"kind" jsonschema:"human, agent, tool or peer"`
	Agent string `json:"agent,omitempty" jsonschema:"name of the agent on this seat, if it differs from the id"`
	Role  string `json:"role,omitempty" jsonschema:"role of the participant, which the others can read"`
}

func refineCreate(a *arguments) {
	a.textLength(0, parley.MaxTitleBytes, "title")
	a.textLength(0, 64, "moderator", "starts_with")
	a.textLength(0, parley.MaxKeyBytes, "client_request_id")
	a.describe("client_request_id", "a key of your choice: calls with the same key create one conversation. "+
		"Without it, every call creates another one, also a call that is repeated after an error")
	a.describe("policy", "which participant has the floor after a turn: round_robin: the next in order; "+
		"open: the first to speak; addressed: the one that the last message names; "+
		"moderator: the one that the moderator names; "+
		"triggers: the agents that the last message triggers, otherwise people and peers in order")
	a.oneOf("policy", "round_robin", "open", "addressed", "moderator", "triggers")
	seats := a.argument("participants")
	least, most := 1, limits.MaxParticipants
	seats.MinItems, seats.MaxItems = &least, &most
	seat := &arguments{seats.Items}
	seat.argument("kind").Enum = []any{"human", "agent", "tool", "peer"}
	seat.textLength(1, 64, "id")
	seat.textLength(0, 64, "agent", "role")
	a.describe("moderator", "with policy moderator: the participant that names the next speaker")
}

func createConversation(ctx context.Context, c *call, in *createArgs) (*conversationView, error) {
	p := &parley.CreateConversationParams{
		Title: in.Title, Policy: &parley.Policy{Kind: parley.PolicyKind(in.Policy),
			Moderator: in.Moderator}, StartsWith: in.StartsWith, ClientRequestID: in.ClientRequestID,
	}
	for _, s := range in.Participants {
		p.Participants = append(p.Participants, parley.Participant{ID: s.ID, Kind: parley.ParticipantKind(s.Kind),
			Agent: s.Agent, Role: s.Role})
	}
	s, err := c.client.CreateConversation(ctx, p)
	if err != nil {
		return nil, explain(err, hints{key: in.ClientRequestID,
			look: "list_conversations lists a created conversation at the end of its last page"})
	}
	v := viewConversation(s, c.client.AgentID())
	if v.Duplicate = s.Duplicate; !v.Duplicate { // otherwise other participants may have posted
		v.SinceSeq = s.LatestSeq
	}
	return v, nil
}

type closeArgs struct {
	ConversationID  string `json:"conversation_id" jsonschema:"id of the conversation"`
	Text            string `json:"text,omitempty" jsonschema:"the last message; requires the floor"`
	SinceSeq        int64  `json:"since_seq,omitempty"`
	Outcome         string `json:"outcome,omitempty" jsonschema:"how the conversation ends"`
	Reason          string `json:"reason,omitempty" jsonschema:"reason, in one sentence"`
	ClientRequestID string `json:"client_request_id,omitempty"`
}

func refineClose(a *arguments) {
	a.textLength(1, 64, "conversation_id")
	a.textLength(0, maxPostChars, "text")
	a.textLength(0, parley.MaxReasonBytes, "reason")
	a.textLength(0, parley.MaxKeyBytes, "client_request_id")
	a.nonNegative("since_seq")
	a.oneOf("outcome", "completed", "failed", "canceled")
	a.describe("since_seq", "with text: since_seq of the last result that you have read")
	a.describe("client_request_id", "with text: a key of your choice, as in post_message")
}

type closeResult struct {
	ConversationID string `json:"conversation_id"`
	Seq            int64  `json:"seq" jsonschema:"seq of the last event"`
	Duplicate      bool   `json:"duplicate" jsonschema:"true if an earlier call closed it"`
}

func (c *closeResult) text() string {
	return fmt.Sprintf("%s is closed with #%d. Nothing is left to do.", c.ConversationID, c.Seq)
}

func closeConversation(ctx context.Context, c *call, in *closeArgs) (*closeResult, error) {
	h := hints{conversation: in.ConversationID, since: in.SinceSeq, key: in.ClientRequestID, once: true}
	outcome := &parley.Outcome{Status: parley.OutcomeStatus(in.Outcome), Reason: in.Reason}
	if in.Text == "" {
		r, err := c.client.CloseConversation(ctx, &parley.CloseConversationParams{ConversationID: in.ConversationID,
			Outcome: outcome})
		if err != nil {
			return nil, explain(err, h)
		}
		return &closeResult{in.ConversationID, r.Seq, r.Duplicate}, nil
	}
	payload, err := messagePayload(in.Text, nil)
	if err != nil {
		return nil, explain(err, h)
	}
	r, err := c.client.SendMessage(ctx, &parley.SendMessageParams{
		ConversationID: in.ConversationID, Payload: payload, Finality: parley.FinalityConversation, Outcome: outcome,
		AfterSeq: &in.SinceSeq,
		ClientRequestID: idempotencyKey(in.ClientRequestID, "close", in.ConversationID, in.SinceSeq, in.Outcome, in.Reason,
			payload),
	})
	if err != nil {
		return nil, explain(err, h)
	}
	return &closeResult{in.ConversationID, r.Seq, r.Duplicate}, nil
}
