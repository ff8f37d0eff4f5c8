package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/parleyhub/parley"
)

// namesTold tells by which names the agents of a runner are found, at first and when that has changed.
type namesTold struct {
	tell   func(text string)
	runner string
	last   []parley.RegisteredBlueprint // it is called from one goroutine at a time
}

func (n *namesTold) registered(r *parley.RegisterBlueprintsResult) {
	if slices.Equal(n.last, r.Agents) {
		return
	}
	n.last = r.Agents
	for _, agent := range r.Agents {
		if agent.AgentName == agent.Name {
			n.tell(clean(agent.Name))
			continue
		}
		n.tell(fmt.Sprintf("%s is known as %s: another has the name", clean(agent.Name), clean(agent.AgentName)))
	}
}

// sessionTold is what is told of a session that was run here.
type sessionTold struct {
	SessionID string `json:"sessionId"`
	AgentName string `json:"agentName"`
	Attempt   int    `json:"attempt"`
	// Status is completed, failed or, of an LLM agent that has asked something, input_required; lost where the session, or the claim on it, had ended before the command.
	Status   string `json:"status"`
	ExitCode *int   `json:"exit_code,omitempty"`
	Error    string `json:"error,omitempty"`
	TookMs   int64  `json:"tookMs"`
}

// sessionTeller is an agent of which the end of each session is told.
type sessionTeller struct {
	agent parley.Agent
	tell  func(*sessionTold)
}

var _ parley.Agent = (*sessionTeller)(nil)

// HandleTurn lets the agent work, and tells of the result that it has posted, or why there is none.
func (s *sessionTeller) HandleTurn(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
	began := time.Now()
	heard := &resultListener{Client: turn.Client}
	turn.Client = heard
	outcome, err := s.agent.HandleTurn(ctx, turn)
	t := &sessionTold{SessionID: turn.ConversationID, AgentName: turn.Agent, Attempt: turn.Attempt, TookMs: time.Since(began).Milliseconds()}
	switch r := heard.said(); {
	case r != nil && err == nil:
		t.Status, t.ExitCode, t.Error = string(parley.SessionCompleted), r.ExitCode, r.Error
		if r.Error != "" {
			t.Status = string(parley.SessionFailed)
		}
	case errors.Is(err, parley.ErrClaimLost), errors.Is(context.Cause(ctx), parley.ErrClaimLost):
		t.Status, t.Error = "lost", "the session was stopped, or the claim on it was lost"
	case err != nil:
		t.Status, t.Error = string(parley.SessionFailed), err.Error()
	default:
		t.Status = string(parley.SessionInputRequired)
	}
	s.tell(t)
	return outcome, err
}

// resultListener is a client that keeps the result which is posted through it.
type resultListener struct {
	parley.Client

	mu     sync.Mutex // guards the field below
	posted *parley.SessionResult
}

// SendMessage posts, and looks at what was posted.
func (l *resultListener) SendMessage(ctx context.Context, p *parley.SendMessageParams) (*parley.SendResult, error) {
	sent, err := l.Client.SendMessage(ctx, p)
	var m parley.Message
	if err == nil && p.Finality == parley.FinalityConversation && json.Unmarshal(p.Payload, &m) == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.posted = m.Result
	}
	return sent, err
}

func (l *resultListener) said() *parley.SessionResult {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.posted
}

// tellSession tells of a session on stderr, or with -o json on stdout.
func (a *app) tellSession(t *sessionTold) {
	if a.format == formatJSON {
		_ = a.out.json(t) // a failure of stdout is told at the end of the program
		return
	}
	a.err.line(t.text())
}

// text is a line for people.
func (t *sessionTold) text() string {
	attempt, code, cause := "", "", ""
	if t.Attempt > 1 {
		attempt = fmt.Sprintf(", attempt %d", t.Attempt)
	}
	if t.ExitCode != nil && *t.ExitCode != 0 {
		code = fmt.Sprintf(" with exit code %d", *t.ExitCode)
	}
	if t.Error != "" {
		cause = ": " + clean(lastLine(t.Error))
	}
	return fmt.Sprintf("%s%s: %s %s%s%s (%d ms)", t.SessionID, attempt, clean(t.AgentName), t.Status, code, cause, t.TookMs)
}
