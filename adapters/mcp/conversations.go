package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
)

type listArgs struct {
	Status string `json:"status,omitempty" jsonschema:"only these"`
	Limit  int    `json:"limit,omitempty" jsonschema:"the most conversations"`
	Cursor string `json:"cursor,omitempty" jsonschema:"next_cursor of the page before"`
}

func refineList(a *arguments) {
	a.of("status").Enum = []any{"active", "closed"}
	a.bounded("limit", 1, 100, 50)
	a.length(0, 256, "cursor")
}

type conversationList struct {
	Conversations []conversationRow `json:"conversations"`
	NextCursor    string            `json:"next_cursor,omitempty" jsonschema:"there is another page"`
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
	r, err := c.client.ListConversations(ctx, &parley.ListConversationsParams{Status: parley.Status(in.Status), Limit: in.Limit, Cursor: in.Cursor})
	if err != nil {
		return nil, explained(err, hints{})
	}
	out := &conversationList{Conversations: []conversationRow{}, NextCursor: r.NextCursor}
	for _, s := range r.Conversations {
		row := conversationRow{ConversationID: s.ConversationID, Title: s.Title, Status: string(s.Status), CreatedBy: s.CreatedBy, Participants: s.Participants, LatestSeq: s.LatestSeq, Turn: s.Turn}
		if row.Participants == nil {
			row.Participants = []string{}
		}
		out.Conversations = append(out.Conversations, row)
	}
	switch {
	case r.NextCursor != "":
		out.Next = "There are more: " + in.on(r.NextCursor) + "."
	case len(out.Conversations) > 0:
		out.Next = "Next: wait_for_updates or read_conversation with one of the ids."
	default:
		out.Next = "That is all."
	}
	return out, nil
}

// on is the call that gives the next page as this one was asked for.
func (in *listArgs) on(cursor string) string {
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
		fmt.Fprintf(&b, "%s %q: %s, turn %d, %d events, between %s\n", c.ConversationID, c.Title, c.Status, c.Turn, c.LatestSeq, strings.Join(c.Participants, ", "))
	}
	if len(l.Conversations) == 0 {
		b.WriteString("None here. ")
	}
	return b.String() + l.Next
}

type createArgs struct {
	Title           string     `json:"title,omitempty" jsonschema:"what it is about, for people"`
	Participants    []seatArgs `json:"participants" jsonschema:"who takes part, in the order of their turns"`
	Policy          string     `json:"policy,omitempty" jsonschema:"who has the floor when a turn has ended: round_robin, the next in order; open, whoever speaks first; addressed, whom the last message names; moderator, whom the moderator names; triggers, the agents that the last message has woken, else people and peers in order"`
	Moderator       string     `json:"moderator,omitempty" jsonschema:"the participant who names the next, with policy moderator"`
	StartsWith      string     `json:"starts_with,omitempty" jsonschema:"who has the floor first; without it the first participant"`
	ClientRequestID string     `json:"client_request_id,omitempty" jsonschema:"a key of your choice: the same call with the same key creates one conversation. Without it every call creates another, also one that is made again after an error"`
}

type seatArgs struct {
	ID    string `json:"id" jsonschema:"the participant's id: letters, digits, . _ -"`
	Kind  string `json:"kind" jsonschema:"human, agent, tool or peer"`
	Agent string `json:"agent,omitempty" jsonschema:"the name of the agent that sits here, where it is not the id"`
	Role  string `json:"role,omitempty" jsonschema:"what it is here for, for the others to read"`
}

func refineCreate(a *arguments) {
	a.length(0, parley.MaxTitleBytes, "title")
	a.length(0, 64, "moderator", "starts_with")
	a.length(0, parley.MaxKeyBytes, "client_request_id")
	a.oneOf("policy", "round_robin", "open", "addressed", "moderator", "triggers")
	seats := a.of("participants")
	least, most := 1, limits.MaxParticipants
	seats.MinItems, seats.MaxItems = &least, &most
	seat := &arguments{seats.Items}
	seat.of("kind").Enum = []any{"human", "agent", "tool", "peer"}
	seat.length(1, 64, "id")
	seat.length(0, 64, "agent", "role")
}

func createConversation(ctx context.Context, c *call, in *createArgs) (*conversationView, error) {
	p := &parley.CreateConversationParams{
		Title: in.Title, Policy: &parley.Policy{Kind: parley.PolicyKind(in.Policy), Moderator: in.Moderator}, StartsWith: in.StartsWith, ClientRequestID: in.ClientRequestID,
	}
	for _, s := range in.Participants {
		p.Participants = append(p.Participants, parley.Participant{ID: s.ID, Kind: parley.ParticipantKind(s.Kind), Agent: s.Agent, Role: s.Role})
	}
	s, err := c.client.CreateConversation(ctx, p)
	if err != nil {
		return nil, explained(err, hints{key: in.ClientRequestID, look: "list_conversations has it at the end of its last page, if it was created"})
	}
	v := viewConversation(s, c.client.AgentID())
	if v.Duplicate = s.Duplicate; !v.Duplicate { // else others may have spoken
		v.SinceSeq = s.LatestSeq
	}
	return v, nil
}

type closeArgs struct {
	ConversationID  string `json:"conversation_id" jsonschema:"which conversation"`
	Text            string `json:"text,omitempty" jsonschema:"the last message; needs the floor"`
	SinceSeq        int64  `json:"since_seq,omitempty" jsonschema:"with text: the since_seq of the last result that you have read"`
	Outcome         string `json:"outcome,omitempty" jsonschema:"how it ends"`
	Reason          string `json:"reason,omitempty" jsonschema:"why, in a sentence"`
	ClientRequestID string `json:"client_request_id,omitempty" jsonschema:"with text: a key of your choice, as for post_message"`
}

func refineClose(a *arguments) {
	a.length(1, 64, "conversation_id")
	a.length(0, maxPostChars, "text")
	a.length(0, parley.MaxReasonBytes, "reason")
	a.length(0, parley.MaxKeyBytes, "client_request_id")
	a.since("since_seq")
	a.oneOf("outcome", "completed", "failed", "canceled")
}

type closed struct {
	ConversationID string `json:"conversation_id"`
	Seq            int64  `json:"seq" jsonschema:"the place of the last event"`
	Duplicate      bool   `json:"duplicate" jsonschema:"an earlier call had closed it"`
}

func (c *closed) text() string {
	return fmt.Sprintf("%s is closed, with #%d. Nothing more to do.", c.ConversationID, c.Seq)
}

func closeConversation(ctx context.Context, c *call, in *closeArgs) (*closed, error) {
	h := hints{conversation: in.ConversationID, since: in.SinceSeq, key: in.ClientRequestID, once: true}
	outcome := &parley.Outcome{Status: parley.OutcomeStatus(in.Outcome), Reason: in.Reason}
	if in.Text == "" {
		r, err := c.client.CloseConversation(ctx, &parley.CloseConversationParams{ConversationID: in.ConversationID, Outcome: outcome})
		if err != nil {
			return nil, explained(err, h)
		}
		return &closed{in.ConversationID, r.Seq, r.Duplicate}, nil
	}
	payload, err := messageOf(in.Text, nil)
	if err != nil {
		return nil, explained(err, h)
	}
	r, err := c.client.SendMessage(ctx, &parley.SendMessageParams{
		ConversationID: in.ConversationID, Payload: payload, Finality: parley.FinalityConversation, Outcome: outcome, AfterSeq: &in.SinceSeq,
		ClientRequestID: keyOf(in.ClientRequestID, "close", in.ConversationID, in.SinceSeq, in.Outcome, in.Reason, payload),
	})
	if err != nil {
		return nil, explained(err, h)
	}
	return &closed{in.ConversationID, r.Seq, r.Duplicate}, nil
}
