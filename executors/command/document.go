package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/parleyhub/parley"
)

// Limits of the document in bytes of JSON. The newest events within the limit are kept.
const (
	MaxMessagesBytes = 4 << 20
	MaxEarlierBytes  = 1 << 20
)

// Document is the JSON document on stdin. docs/command-input.schema.json is its schema.
type Document struct {
	Conversation Conversation `json:"conversation"`
	// Turn is the turn that the program ends. Attempt is 1 unless earlier attempts failed.
	Turn    int64 `json:"turn"`
	Attempt int   `json:"attempt"`
	// DeadlineMs is the end of the agent's ctx, in Unix ms by the clock of this machine. It is
	// absent without a deadline.
	DeadlineMs int64           `json:"deadlineMs,omitempty"`
	Guidance   parley.Guidance `json:"guidance"`
	// SinceSeq is the seq of the message with which this participant last ended a turn, or 0.
	// Messages are the messages since then, up to the newest MaxMessagesBytes. Omitted counts the
	// older ones that were left out.
	SinceSeq int64          `json:"sinceSeq"`
	Messages []parley.Event `json:"messages"`
	Omitted  int            `json:"omitted,omitempty"`
	// Earlier are the messages and traces of failed attempts of this turn, up to the newest
	// MaxEarlierBytes. They are withdrawn, but may save work.
	Earlier        []parley.Event `json:"earlier,omitempty"`
	EarlierOmitted int            `json:"earlierOmitted,omitempty"`
	// LatestSeq is the last seq of the log.
	LatestSeq int64 `json:"latestSeq"`
}

// Conversation describes the conversation.
type Conversation struct {
	ConversationID string `json:"conversationId"`
	Title          string `json:"title,omitempty"`
	// You is the participant of the program, and Agent the name of the agent in that seat.
	You   string `json:"you"`
	Agent string `json:"agent,omitempty"`
	// Private is the private text of this participant.
	Private      string               `json:"private,omitempty"`
	Participants []parley.Participant `json:"participants"`
	Policy       parley.Policy        `json:"policy"`
	Limits       parley.Limits        `json:"limits"`
	Metadata     json.RawMessage      `json:"metadata,omitempty"`
}

// encodeDocument reads the conversation and returns the document as one line of JSON.
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

// readEvents reads the messages.
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

// readPrivate finds the private text of this participant. It directly follows the event that added
// the participant.
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

// privateFinder reads the events of a conversation from the start.
type privateFinder struct {
	id   string
	here bool // the participant was added
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
		f.done = true // no private text follows
	default:
		f.here = addsParticipant(&payload, f.id)
	}
	return nil
}

// addsParticipant reports whether an event adds a participant.
func addsParticipant(s *parley.System, id string) bool {
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
