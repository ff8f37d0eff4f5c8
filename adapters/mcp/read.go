package mcp

import (
	"context"
	"fmt"
	"strings"

	"github.com/parleyhub/parley"
)

type readArgs struct {
	ConversationID string `json:"conversation_id" jsonschema:"id of the conversation"`
	SinceSeq       int64  `json:"since_seq,omitempty" jsonschema:"read events after this seq; 0 for the beginning"`
	Limit          int    `json:"limit,omitempty" jsonschema:"maximum number of events"`
	TextOffset     int    `json:"text_offset,omitempty"`
	DataOffset     int    `json:"data_offset,omitempty"`
	IncludeTraces  bool   `json:"include_traces,omitempty"`
}

func refineRead(a *arguments) {
	a.textLength(1, 64, "conversation_id")
	a.nonNegative("since_seq")
	a.nonNegative("text_offset")
	a.nonNegative("data_offset")
	a.numberRange("limit", 1, MaxEvents, MaxEvents)
	a.describe("text_offset", "characters of the text of the first event to skip, to read on after a cut. "+
		"Only that event is returned")
	a.describe("data_offset", "the same for the JSON text of its data; excludes text_offset")
	a.describe("include_traces", "also return traces, events of the hub and withdrawn messages; rarely needed")
}

type conversationView struct {
	ConversationID string            `json:"conversation_id"`
	Title          string            `json:"title,omitempty"`
	Status         string            `json:"status" jsonschema:"active or closed"`
	Outcome        string            `json:"outcome,omitempty" jsonschema:"how the conversation ended"`
	Policy         string            `json:"policy" jsonschema:"which participant has the floor after a turn"`
	Participants   []participantView `json:"participants"`
	You            string            `json:"you" jsonschema:"your participant id"`
	Events         []eventView       `json:"events"`
	Guidance       guidanceView      `json:"guidance"`
	SinceSeq       int64             `json:"since_seq" jsonschema:"pass this to the next call"`
	LatestSeq      int64             `json:"latest_seq"`
	More           bool              `json:"more" jsonschema:"if true, call again with the new since_seq"`
	Withdrawn      []turnRange       `json:"withdrawn,omitempty" jsonschema:"messages of failed attempts: ignore them"`
	Duplicate      bool              `json:"duplicate,omitempty" jsonschema:"true if an earlier call created it"`
	Next           string            `json:"next,omitempty" jsonschema:"the call to make next"`
}

type participantView struct {
	ID   string `json:"id"`
	Kind string `json:"kind"`
	Role string `json:"role,omitempty"`
}

// text returns the id, kind and role of a participant.
func (p *participantView) text() string {
	if p.Role == "" {
		return fmt.Sprintf("%s (%s)", p.ID, p.Kind)
	}
	return fmt.Sprintf("%s (%s: %s)", p.ID, p.Kind, p.Role)
}

func readConversation(ctx context.Context, c *call, in *readArgs) (*conversationView, error) {
	h := hints{conversation: in.ConversationID, since: in.SinceSeq}
	if in.TextOffset > 0 && in.DataOffset > 0 {
		return nil, explain(parley.Refuse(parley.ErrValidationFailed, "text_offset and data_offset are mutually exclusive",
			"one of them"), h)
	}
	s, err := c.client.GetConversation(ctx, &parley.GetConversationParams{ConversationID: in.ConversationID,
		SinceSeq: in.SinceSeq, Limit: readAtOnce})
	if err != nil {
		return nil, explain(err, h)
	}
	withdrawn, err := c.withdrawalsAfter(ctx, in.ConversationID, in.SinceSeq)
	if err != nil {
		return nil, explain(err, h)
	}
	r := selectEvents(s, in, withdrawn)
	p := fitEvents(r.events, r.next, r.next < s.LatestSeq)
	if r.at != (offsets{}) && len(r.events) > 0 {
		p.events[0] = viewEvent(&r.events[0], r.at, MaxChars)
	}
	for i := range p.events {
		if !withdrawn.counts(&r.events[i]) {
			p.events[i].markWithdrawn()
		}
	}
	v := viewConversation(s, c.client.AgentID())
	v.Events, v.SinceSeq, v.More, v.Withdrawn = p.events, p.next, p.more, withdrawn.before(p.next)
	if v.More {
		v.Next = in.nextPage(v.SinceSeq)
	}
	return v, nil
}

// nextPage returns the call that reads the next page with the same filter.
func (in *readArgs) nextPage(since int64) string {
	s := fmt.Sprintf("read_conversation {conversation_id: %q, since_seq: %d", in.ConversationID, since)
	if in.Limit > 0 && in.Limit < MaxEvents && in.TextOffset == 0 && in.DataOffset == 0 {
		s += fmt.Sprintf(", limit: %d", in.Limit)
	}
	if in.IncludeTraces {
		s += ", include_traces: true"
	}
	return s + "}"
}

// readAtOnce is the number of events to request. Events that the caller did not ask for are
// filtered afterwards.
const readAtOnce = 200

// selection is the part of a snapshot that the caller asked for.
type selection struct {
	events []parley.Event
	next   int64 // the cursor after the events
	at     offsets
}

// selectEvents returns the first events of a snapshot that the caller asked for. The offsets apply
// to the first event; if that was withdrawn meanwhile, they apply to none.
func selectEvents(s *parley.Snapshot, in *readArgs, withdrawn *withdrawals) *selection {
	r := &selection{next: s.NextSeq, at: offsets{in.TextOffset, in.DataOffset}}
	limit := in.Limit
	if r.at != (offsets{}) {
		limit = 1
	}
	for i := range s.Events {
		e := &s.Events[i]
		if !in.IncludeTraces && e.Type != parley.TypeMessage && !isNote(e) {
			continue
		}
		if !in.IncludeTraces && !withdrawn.counts(e) {
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
		Guidance: viewGuidance(&s.Guidance), LatestSeq: s.LatestSeq, SinceSeq: s.NextSeq, Events: []eventView{},
		Participants: []participantView{},
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
		b.WriteString("An earlier call with the same client_request_id created it; this call had no effect.\n")
	}
	p := page{events: v.Events}
	b.WriteString(p.lines(v.ConversationID))
	b.WriteString(withdrawnText(v.Withdrawn))
	b.WriteString(v.Guidance.line())
	if v.More {
		fmt.Fprintf(&b, "\nThere is more: %s.", v.Next)
	} else {
		fmt.Fprintf(&b, "\nNext since_seq: %d.", v.SinceSeq)
	}
	return b.String()
}
