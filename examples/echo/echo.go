// Package echo is an agent to try a client with: it says again what was said, asks back, takes its
// time, and can be stopped in the middle.
package echo

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/parleyhub/parley"
)

// Name is that of the agent in a hub for development.
const Name = "echo"

// Description says what it does.
const Description = "Repeats each message. For 'ask', it asks a question and finishes with the reply. For 'slow', it works for five seconds and reports its progress."

// InputRequired is the tag of a message whose author asks a question and continues with the answer.
const InputRequired = "input_required"

const (
	question = "What shall I say?"
	steps    = 5
)

// Agent returns the agent. Each of the five steps of slow takes pace; 0 means one second.
func Agent(pace time.Duration) parley.Agent {
	if pace == 0 {
		pace = time.Second
	}
	return parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		said, asked, err := heard(ctx, turn)
		if err != nil {
			return "", err
		}
		answer := parley.Message{Text: said.Text, Data: said.Data, Attachments: said.Attachments}
		word := strings.ToLower(strings.TrimSpace(said.Text))
		switch {
		case asked:
			answer.Text = "You said: " + said.Text
		case word == "ask" || strings.HasPrefix(word, "ask "):
			answer = parley.Message{Text: question, Tags: []string{InputRequired}}
		case word == "slow" || strings.HasPrefix(word, "slow "):
			if err := work(ctx, turn, pace); err != nil {
				return "", err
			}
			answer.Text = "Done: " + said.Text
		case answer.Text == "" && answer.Data == nil && answer.Attachments == nil:
			answer.Text = "The message was empty."
		}
		if _, err := turn.Post(ctx, answer, parley.FinalityTurn); err != nil {
			return "", err
		}
		return parley.TurnPosted, nil
	})
}

// heard returns the last message to the agent, and whether the agent had asked a question.
func heard(ctx context.Context, turn *parley.Turn) (said parley.Message, asked bool, err error) {
	all, err := turn.Messages(ctx)
	if err != nil {
		return said, false, err
	}
	anew := false // the message starts a new task instead of answering the question
	for i := len(all) - 1; i >= 0; i-- {
		var m parley.Message
		if err := json.Unmarshal(all[i].Payload, &m); err != nil {
			return said, false, fmt.Errorf("message %d: %w", all[i].Seq, err)
		}
		if all[i].From == turn.AgentID {
			return said, !anew && len(m.Tags) == 1 && m.Tags[0] == InputRequired, nil
		}
		anew = anew || beginsTask(all[i].Payload)
		if said.Text == "" && said.Data == nil && said.Attachments == nil {
			said = m
		}
	}
	return said, false, nil
}

// beginsTask reports whether a message came over A2A and starts a task.
func beginsTask(payload json.RawMessage) bool {
	var m struct {
		A2A *struct {
			TaskID string `json:"taskId"`
		} `json:"a2a"`
	}
	return json.Unmarshal(payload, &m) == nil && m.A2A != nil && m.A2A.TaskID == ""
}

// work reports its progress, step by step.
func work(ctx context.Context, turn *parley.Turn, pace time.Duration) error {
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for i := 1; i <= steps; i++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if i == steps {
			break
		}
		if _, err := turn.Post(ctx, parley.Message{Text: fmt.Sprintf("%d of %d", i, steps)},
			parley.FinalityNone); err != nil {
			return err
		}
	}
	return nil
}
