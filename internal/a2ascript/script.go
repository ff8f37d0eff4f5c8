// Package a2ascript is the participant that the conformance kit of the Agent2Agent protocol talks
// to: what it does is chosen by the beginning of the messageId of the message that it answers, as
// the kit's scenarios have it.
package a2ascript

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/parleyhub/parley"
)

// Name is that of the agent.
const Name = "tck"

// Scenario is what is done for the messages whose ids begin with Prefix: after Hold, if it is set,
// Answer is said.
type Scenario struct {
	Prefix string
	Hold   bool
	Answer Answer
}

// Answer is a message, and what it says of the task.
type Answer struct {
	Text string
	Data json.RawMessage
	Tags []string
	// File is a file that goes with it, and URL one that is elsewhere; both are FileName of FileType.
	File, URL string
	// State is what the task is then, by payload.a2a.state; empty: nothing is said of it. Message asks
	// for a message and no task.
	State   string
	Message bool
}

// The name and the type of files.
const (
	FileName = "output.txt"
	FileType = "text/plain"
)

// Scenarios are those of the kit's branch 1.0-dev. Where one completes a task without a word, a
// word is said: in a conversation nothing else is an answer. A text in chunks is said as a whole.
var Scenarios = []Scenario{
	{Prefix: "tck-complete-task", Answer: Answer{Text: "Hello from TCK"}},
	{Prefix: "tck-delayed-complete", Hold: true, Answer: Answer{Text: "Done after delay"}},
	{Prefix: "tck-artifact-text", Answer: Answer{Text: "Generated text content"}},
	{Prefix: "tck-artifact-file", Answer: Answer{File: "tck"}},
	{Prefix: "tck-artifact-file-url", Answer: Answer{URL: "https://example.com/output.txt"}},
	{Prefix: "tck-artifact-data", Answer: Answer{Data: json.RawMessage(`{"key":"value","count":42}`)}},
	{Prefix: "tck-message-response", Answer: Answer{Text: "Direct message response", Message: true}},
	{Prefix: "tck-input-required", Answer: Answer{Text: "What else?", Tags: []string{"input_required"}}},
	{Prefix: "tck-reject-task", Answer: Answer{Text: "rejected", State: "rejected"}},
	{Prefix: "tck-stream-001", Answer: Answer{Text: "Stream hello from TCK"}},
	{Prefix: "tck-stream-002", Answer: Answer{Text: "Done"}},
	{Prefix: "tck-stream-003", Answer: Answer{Text: "Stream task lifecycle"}},
	{Prefix: "tck-stream-ordering-001", Answer: Answer{Text: "Ordered output"}},
	{Prefix: "tck-stream-artifact-text", Answer: Answer{Text: "Streamed text content"}},
	{Prefix: "tck-stream-artifact-file", Answer: Answer{File: "tck"}},
	{Prefix: "tck-stream-artifact-chunked", Answer: Answer{Text: "chunk-1 chunk-2"}},
	{Prefix: "test-resubscribe-message-id", Hold: true, Answer: Answer{Text: "Done"}},
}

// Find gives the scenario of a messageId: of several that begin it the longest. Any other is
// answered with its name.
func Find(messageID string) Scenario {
	found := Scenario{Answer: Answer{Text: "Unhandled messageId prefix: " + messageID}}
	for _, s := range Scenarios {
		if strings.HasPrefix(messageID, s.Prefix) && len(s.Prefix) > len(found.Prefix) {
			found = s
		}
	}
	return found
}

// Agent gives the participant. hold is what a scenario that holds waits for; it may end early with
// ctx.
func Agent(hold func(ctx context.Context, messageID string) error) parley.Agent {
	return parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		id, err := asked(ctx, turn)
		if err != nil {
			return "", err
		}
		s := Find(id)
		if s.Hold {
			if err := hold(ctx, id); err != nil {
				return "", err
			}
		}
		payload, err := s.Answer.payload(ctx, turn)
		if err != nil {
			return "", err
		}
		if _, err := turn.PostPayload(ctx, payload, parley.FinalityTurn, nil); err != nil {
			return "", err
		}
		return parley.TurnPosted, nil
	})
}

// asked gives the messageId of the message that is answered; empty if it did not come over A2A.
func asked(ctx context.Context, turn *parley.Turn) (string, error) {
	news, err := turn.Updates(ctx)
	if err != nil {
		return "", err
	}
	for _, e := range slices.Backward(news.Messages) {
		if e.From == turn.AgentID {
			continue
		}
		var said struct {
			A2A struct {
				MessageID string `json:"messageId"`
			} `json:"a2a"`
		}
		if err := json.Unmarshal(e.Payload, &said); err != nil {
			return "", fmt.Errorf("message %d: %w", e.Seq, err)
		}
		return said.A2A.MessageID, nil
	}
	return "", nil
}

// payload makes the message, and attaches its file.
func (a *Answer) payload(ctx context.Context, turn *parley.Turn) (json.RawMessage, error) {
	type part struct {
		URL       string `json:"url"`
		Filename  string `json:"filename"`
		MediaType string `json:"mediaType"`
	}
	type about struct {
		State   string `json:"state,omitempty"`
		Message bool   `json:"message,omitempty"`
		Parts   []part `json:"parts,omitempty"`
	}
	said := struct {
		parley.Message
		A2A about `json:"a2a"`
	}{parley.Message{Text: a.Text, Data: a.Data, Tags: a.Tags}, about{State: a.State, Message: a.Message}}
	if a.File != "" {
		file, err := turn.Attach(ctx, FileName, FileType, []byte(a.File))
		if err != nil {
			return nil, err
		}
		said.Attachments = []parley.Attachment{file}
	}
	if a.URL != "" {
		// for who knows nothing of A2A, and for who does
		said.Text, said.A2A.Parts = FileName+": "+a.URL, []part{{a.URL, FileName, FileType}}
	}
	return json.Marshal(said)
}
