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
	TextOffset     int    `json:"text_offset,omitempty" jsonschema:"characters of the first event's text to skip: for the rest of one that was cut. That event alone is given then"`
	DataOffset     int    `json:"data_offset,omitempty" jsonschema:"likewise of the JSON text of its data; not together with text_offset"`
	IncludeTraces  bool   `json:"include_traces,omitempty" jsonschema:"also traces, the hub's own events and words that were withdrawn, which few need"`
}

func refineRead(a *arguments) {
	a.length(1, 64, "conversation_id")
	a.since("since_seq")
	a.since("text_offset")
	a.since("data_offset")
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
	Withdrawn      []turnRange       `json:"withdrawn,omitempty" jsonschema:"messages that count no more: forget them"`
	Duplicate      bool              `json:"duplicate,omitempty" jsonschema:"of create_conversation: it had been created before, by an earlier call with the same key"`
	Next           string            `json:"next,omitempty" jsonschema:"the call to make next"`
}

type participantView struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	Role string `json:"role,omitempty"`
}

// text names a participant, what it is, and what it is here for.
func (p *participantView) text() string {
	if p.Role == "" {
		return fmt.Sprintf("%s (%s)", p.ID, p.Kind)
	}
	return fmt.Sprintf("%s (%s: %s)", p.ID, p.Kind, p.Role)
}

func readConversation(ctx context.Context, c *call, in *readArgs) (*conversationView, error) {
	h := hints{conversation: in.ConversationID, since: in.SinceSeq}
	if in.TextOffset > 0 && in.DataOffset > 0 {
		return nil, explained(parley.Refuse(parley.ErrValidationFailed, "text_offset and data_offset are both given", "one of them"), h)
	}
	s, err := c.client.GetConversation(ctx, &parley.GetConversationParams{ConversationID: in.ConversationID, SinceSeq: in.SinceSeq, Limit: readAtOnce})
	if err != nil {
		return nil, explained(err, h)
	}
	stands, err := c.standing(ctx, in.ConversationID, in.SinceSeq)
	if err != nil {
		return nil, explained(err, h)
	}
	r := asked(s, in, stands)
	p := fit(r.events, r.next, r.next < s.LatestSeq)
	if r.at != (offsets{}) && len(r.events) > 0 {
		p.events[0] = viewEvent(&r.events[0], r.at, MaxChars)
	}
	for i := range p.events {
		if !stands.counts(&r.events[i]) {
			p.events[i].withdraw()
		}
	}
	v := viewConversation(s, c.client.AgentID())
	v.Events, v.SinceSeq, v.More, v.Withdrawn = p.events, p.next, p.more, stands.before(p.next)
	if v.More {
		v.Next = in.on(v.SinceSeq)
	}
	return v, nil
}

// on is the call that reads the next page as this one was read.
func (in *readArgs) on(since int64) string {
	s := fmt.Sprintf("read_conversation {conversation_id: %q, since_seq: %d", in.ConversationID, since)
	if in.Limit > 0 && in.Limit < MaxEvents && in.TextOffset == 0 && in.DataOffset == 0 {
		s += fmt.Sprintf(", limit: %d", in.Limit)
	}
	if in.IncludeTraces {
		s += ", include_traces: true"
	}
	return s + "}"
}

// readAtOnce is how many events are asked for: what is not for the caller is left out afterwards.
const readAtOnce = 200

// reading is what of a snapshot was asked for.
type reading struct {
	events []parley.Event
	next   int64 // the cursor behind them
	at     offsets
}

// asked gives the first events of a snapshot that were asked for. Offsets are for the first of them: where that was withdrawn meanwhile they are for none.
func asked(s *parley.Snapshot, in *readArgs, stands *standing) *reading {
	r := &reading{next: s.NextSeq, at: offsets{in.TextOffset, in.DataOffset}}
	limit := in.Limit
	if r.at != (offsets{}) {
		limit = 1
	}
	for i := range s.Events {
		e := &s.Events[i]
		if !in.IncludeTraces && e.Type != parley.TypeMessage && !isNote(e) {
			continue
		}
		if !in.IncludeTraces && !stands.counts(e) {
			if len(r.events) == 0 {
				r.at = offsets{}
			}
			continue
		}
		if len(r.events) == limit {
			r.next = r.events[limit-1].Seq
			return r
		}
		r.events = append(r.events, *e)
	}
	return r
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
	for i, p := range v.Participants {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(" " + p.text())
	}
	fmt.Fprintf(&b, ". You are %s.\n", v.You)
	if v.Duplicate {
		b.WriteString("It was created before, by an earlier call with the same client_request_id; nothing was created twice.\n")
	}
	p := page{events: v.Events}
	b.WriteString(p.lines(v.ConversationID))
	b.WriteString(forget(v.Withdrawn))
	b.WriteString(v.Guidance.line())
	if v.More {
		fmt.Fprintf(&b, "\nThere is more: %s.", v.Next)
	} else {
		fmt.Fprintf(&b, "\nNext since_seq: %d.", v.SinceSeq)
	}
	return b.String()
}
