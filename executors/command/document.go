package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/parleyhub/parley"
)

// Bounds of what a program is given, in bytes of JSON. Of more than this the newest is kept.
const (
	MaxMessagesBytes = 4 << 20
	MaxEarlierBytes  = 1 << 20
)

// Document is what a program reads from stdin. docs/command-input.schema.json says the same.
type Document struct {
	Conversation Conversation `json:"conversation"`
	// Turn is the turn that the program is to end, and Attempt is 1 unless others have failed to.
	Turn    int64 `json:"turn"`
	Attempt int   `json:"attempt"`
	// DeadlineMs is when the program is told to stop, in Unix ms by the clock of this machine; absent when it is not.
	DeadlineMs int64           `json:"deadlineMs,omitempty"`
	Guidance   parley.Guidance `json:"guidance"`
	// SinceSeq is the seq of the message with which this participant last ended a turn; 0 when it has not. Messages are what was said since, the newest
	// MaxMessagesBytes of it; Omitted counts those before them that were left out.
	SinceSeq int64          `json:"sinceSeq"`
	Messages []parley.Event `json:"messages"`
	Omitted  int            `json:"omitted,omitempty"`
	// Earlier are the messages and traces that failed attempts of this turn have left, the newest MaxEarlierBytes. They count no more, but may save work.
	Earlier        []parley.Event `json:"earlier,omitempty"`
	EarlierOmitted int            `json:"earlierOmitted,omitempty"`
	// LatestSeq is where the log stood.
	LatestSeq int64 `json:"latestSeq"`
}

// Conversation says where the program is.
type Conversation struct {
	ConversationID string `json:"conversationId"`
	Title          string `json:"title,omitempty"`
	// You is the participant that the program speaks as, and Agent the name of the agent that sits there.
	You   string `json:"you"`
	Agent string `json:"agent,omitempty"`
	// Private is the text that was given to this participant alone.
	Private      string               `json:"private,omitempty"`
	Participants []parley.Participant `json:"participants"`
	Policy       parley.Policy        `json:"policy"`
	Limits       parley.Limits        `json:"limits"`
	Metadata     json.RawMessage      `json:"metadata,omitempty"`
}

// encodeDocument reads the conversation and gives the document as one line of JSON.
func encodeDocument(ctx context.Context, turn *parley.Turn) ([]byte, error) {
	d, err := readDocument(ctx, turn)
	if err != nil {
		return nil, fmt.Errorf("read the conversation: %w", err)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err = enc.Encode(d)
	return b.Bytes(), err
}

func readDocument(ctx context.Context, turn *parley.Turn) (*Document, error) {
	s, err := turn.Client.GetConversation(ctx, &parley.GetConversationParams{ConversationID: turn.ConversationID})
	if err != nil {
		return nil, err
	}
	private, err := readPrivate(ctx, turn, s)
	if err != nil {
		return nil, err
	}
	d := &Document{
		Conversation: Conversation{
			ConversationID: turn.ConversationID, Title: s.Title, You: turn.AgentID, Agent: turn.Agent, Private: private,
			Participants: s.Participants, Policy: s.Policy, Limits: s.Limits, Metadata: s.Metadata,
		},
		Turn: turn.Number, Attempt: max(turn.Attempt, 1), SinceSeq: turn.SinceSeq,
	}
	if !turn.Deadline.IsZero() {
		d.DeadlineMs = turn.Deadline.UnixMilli()
	}
	return d, d.readEvents(ctx, turn)
}

// readEvents fills in what was said.
func (d *Document) readEvents(ctx context.Context, turn *parley.Turn) error {
	said := window{most: MaxMessagesBytes, events: []parley.Event{}}
	var withdrawn []parley.Withdrawn
	for since := turn.SinceSeq; ; {
		u, err := turn.Client.GetUpdates(ctx, &parley.GetUpdatesParams{ConversationID: turn.ConversationID, SinceSeq: since})
		if err != nil {
			return err
		}
		said.add(u.Messages...)
		withdrawn = append(withdrawn, u.Withdrawn...)
		d.Guidance, d.LatestSeq, since = u.Guidance, u.LatestSeq, u.NextSeq
		if u.NextSeq >= u.LatestSeq {
			break
		}
	}
	d.Messages, d.Omitted = said.events, said.omitted

	left := window{most: MaxEarlierBytes}
	for _, w := range withdrawn {
		if w.Turn != turn.Number {
			continue
		}
		if err := left.addRange(ctx, turn, w); err != nil {
			return err
		}
	}
	d.Earlier, d.EarlierOmitted = left.events, left.omitted
	return nil
}

// readPrivate finds the text for this participant alone. It was written right behind the event that brought the participant into the conversation.
func readPrivate(ctx context.Context, turn *parley.Turn, s *parley.Snapshot) (string, error) {
	f := privateFinder{id: turn.AgentID}
	events, next := s.Events, s.NextSeq
	for {
		if err := f.look(events); err != nil || f.done {
			return f.text, err
		}
		page, err := turn.Client.Tail(ctx, &parley.TailParams{ConversationID: turn.ConversationID, SinceSeq: next})
		if err != nil || page.NextSeq <= next {
			return "", err
		}
		events, next = page.Events, page.NextSeq
	}
}

// privateFinder goes through the events of a conversation from the first on.
type privateFinder struct {
	id   string
	here bool // the participant is in the conversation
	done bool
	text string
}

func (f *privateFinder) look(events []parley.Event) error {
	for i := range events {
		if f.done {
			return nil
		}
		if err := f.take(&events[i]); err != nil {
			return err
		}
	}
	return nil
}

func (f *privateFinder) take(e *parley.Event) error {
	var payload parley.System
	if e.Type == parley.TypeSystem {
		var err error
		if payload, err = e.System(); err != nil {
			return err
		}
	}
	switch {
	case payload.Kind == parley.KindParticipantPrivate:
		if payload.ParticipantID == f.id {
			f.text, f.done = payload.Text, true
		}
	case f.here:
		f.done = true // the texts that were written with it are over
	default:
		f.here = seats(&payload, f.id)
	}
	return nil
}

// seats reports whether an event brings a participant into the conversation.
func seats(s *parley.System, id string) bool {
	if s.Participant != nil && s.Participant.ID == id {
		return true
	}
	for i := range s.Participants {
		if s.Participants[i].ID == id {
			return true
		}
	}
	return false
}
