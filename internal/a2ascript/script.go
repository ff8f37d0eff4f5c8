// Package a2ascript is the agent that the conformance kit of the Agent2Agent protocol calls. The
// prefix of the messageId selects the answer, as the scenarios of the kit require.
package a2ascript

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/parleyhub/parley"
)

// Name is the name of the agent.
const Name = "tck"

// Scenario is the behavior for messages whose ids begin with Prefix. With Hold, the agent waits
// before it posts Answer.
type Scenario struct {
	Prefix string
	Hold   bool
	Answer Answer
}

// Answer is a message and the task state that it sets.
type Answer struct {
	Text string
	Data json.RawMessage
	Tags []string
	// File is the content of an attached file. URL is the address of a remote file. Both have the name
	// FileName and the type FileType.
	File, URL string
	// State is the task state in payload.a2a.state, or empty to set none. Message requests a message
	// instead of a task.
	State   string
	Message bool
}

// The name and the type of files.
const (
	FileName = "output.txt"
	FileType = "text/plain"
)

// Scenarios are the scenarios of the kit's branch 1.0-dev. Where the kit completes a task without a
// message, this agent posts one, because an answer in a conversation is a message. It posts a text
// in chunks as one message.
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

// Find returns the scenario with the longest prefix of a messageId. For an unknown id it returns a
// scenario that answers with the id.
func Find(messageID string) Scenario {
	found := Scenario{Answer: Answer{Text: "Unhandled messageId prefix: " + messageID}}
	for _, s := range Scenarios {
		if strings.HasPrefix(messageID, s.Prefix) && len(s.Prefix) > len(found.Prefix) {
			found = s
		}
	}
	return found
}

// Agent returns the agent. A scenario with Hold calls hold and waits for it. hold may return early
// when ctx ends.
func Agent(hold func(ctx context.Context, messageID string) error) parley.Agent {
	return parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		id, err := incomingID(ctx, turn)
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

// incomingID returns the messageId of the message to answer, or "" if the message did not arrive
// over A2A.
func incomingID(ctx context.Context, turn *parley.Turn) (string, error) {
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

// payload returns the payload of the message, and attaches its file.
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
		// the text is for readers without A2A support, and the part is for A2A clients
		said.Text, said.A2A.Parts = FileName+": "+a.URL, []part{{a.URL, FileName, FileType}}
	}
	return json.Marshal(said)
}
