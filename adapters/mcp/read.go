package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/parleyhub/parley"
)

type readArgs struct {
	ConversationID string `json:"conversation_id" jsonschema:"which conversation"`
	SinceSeq       int64  `json:"since_seq,omitempty" jsonschema:"read what comes after this; 0 for the beginning"`
	Limit          int    `json:"limit,omitempty" jsonschema:"the most events"`
	TextOffset     int    `json:"text_offset,omitempty" jsonschema:"characters of the first event's text to skip: for the rest of one that was cut"`
	IncludeTraces  bool   `json:"include_traces,omitempty" jsonschema:"also traces and the hub's own events, which few need"`
}

func refineRead(a *arguments) {
	a.length(1, 64, "conversation_id")
	a.since("since_seq")
	a.since("text_offset")
	a.bounded("limit", 1, MaxEvents, MaxEvents)
}

type conversationView struct {
	ConversationID string            `json:"conversation_id"`
	Title          string            `json:"title,omitempty"`
	Status         string            `json:"status" jsonschema:"active or closed"`
	Outcome        string            `json:"outcome,omitempty" jsonschema:"how it ended"`
	Policy         string            `json:"policy" jsonschema:"who has the floor when a turn has ended"`
	Participants   []participantView `json:"participants"`
	You            string            `json:"you" jsonschema:"the participant that you speak as"`
	Events         []eventView       `json:"events"`
	Guidance       guidanceView      `json:"guidance"`
	SinceSeq       int64             `json:"since_seq" jsonschema:"give this to the next call"`
	LatestSeq      int64             `json:"latest_seq"`
	More           bool              `json:"more" jsonschema:"there is more: call again with the new since_seq"`
}

type participantView struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	Role string `json:"role,omitempty"`
}

func readConversation(ctx context.Context, c *call, in *readArgs) (*conversationView, error) {
	s, err := c.client.GetConversation(ctx, &parley.GetConversationParams{ConversationID: in.ConversationID, SinceSeq: in.SinceSeq, Limit: readAtOnce})
	if err != nil {
		return nil, explained(err, hints{conversation: in.ConversationID, since: in.SinceSeq})
	}
	events, next := asked(s, in)
	p := fit(events, next, next < s.LatestSeq)
	if in.TextOffset > 0 && len(events) > 0 {
		p.events[0] = viewEvent(&events[0], in.TextOffset, MaxChars)
	}
	v := viewConversation(s, c.client.AgentID())
	v.Events, v.SinceSeq, v.More = p.events, p.next, p.more
	return v, nil
}

// readAtOnce is how many events are asked for: what is not for the caller is left out afterwards.
const readAtOnce = 200

// asked gives the first events of a snapshot that were asked for, and the cursor behind them.
func asked(s *parley.Snapshot, in *readArgs) (events []parley.Event, next int64) {
	next = s.NextSeq
	for _, e := range s.Events {
		if e.Type != parley.TypeMessage && !in.IncludeTraces {
			continue
		}
		if len(events) == in.Limit {
			return events, events[len(events)-1].Seq
		}
		events = append(events, e)
	}
	return events, next
}

func viewConversation(s *parley.Snapshot, you string) *conversationView {
	v := &conversationView{
		ConversationID: s.ConversationID, Title: s.Title, Status: string(s.Status), Policy: string(s.Policy.Kind), You: you,
		Guidance: viewGuidance(&s.Guidance), LatestSeq: s.LatestSeq, SinceSeq: s.NextSeq, Events: []eventView{}, Participants: []participantView{},
	}
	if s.Outcome != nil {
		v.Outcome = strings.TrimSuffix(string(s.Outcome.Status)+": "+s.Outcome.Reason, ": ")
	}
	for _, p := range s.Participants {
		v.Participants = append(v.Participants, participantView{p.ID, string(p.Kind), p.Role})
	}
	return v
}

func (v *conversationView) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %q: %s", v.ConversationID, v.Title, v.Status)
	if v.Outcome != "" {
		b.WriteString(" (" + v.Outcome + ")")
	}
	fmt.Fprintf(&b, ", %s. Participants:", v.Policy)
	for _, p := range v.Participants {
		fmt.Fprintf(&b, " %s (%s)", p.ID, p.Kind)
	}
	fmt.Fprintf(&b, ". You are %s.\n", v.You)
	p := page{events: v.Events}
	b.WriteString(p.lines(v.ConversationID))
	b.WriteString(v.Guidance.line())
	if v.More {
		fmt.Fprintf(&b, "\nThere is more: read_conversation {conversation_id: %q, since_seq: %d}.", v.ConversationID, v.SinceSeq)
	} else {
		fmt.Fprintf(&b, "\nNext since_seq: %d.", v.SinceSeq)
	}
	return b.String()
}
