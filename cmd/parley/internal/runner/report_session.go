package runner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
)

// NameReporter reports the names of the agents of a runner, first and after each change.
type NameReporter struct {
	Report func(text string)
	Runner string
	last   []parley.RegisteredBlueprint // it is called from one goroutine at a time
}

func (n *NameReporter) Registered(r *parley.RegisterBlueprintsResult) {
	if slices.Equal(n.last, r.Agents) {
		return
	}
	n.last = r.Agents
	for _, agent := range r.Agents {
		if agent.AgentName == agent.Name {
			n.Report(cli.Clean(agent.Name))
			continue
		}
		n.Report(fmt.Sprintf("%s is known as %s: another has the name", cli.Clean(agent.Name), cli.Clean(agent.AgentName)))
	}
}

// SessionReport is the report of a session that was run here.
type SessionReport struct {
	SessionID string `json:"sessionId"`
	AgentName string `json:"agentName"`
	Attempt   int    `json:"attempt"`
	// Status is completed, failed or, for an LLM agent with a question, input_required. It is lost
	// if the session, or the claim on it, ended before the command.
	Status   string `json:"status"`
	ExitCode *int   `json:"exit_code,omitempty"`
	Error    string `json:"error,omitempty"`
	TookMs   int64  `json:"tookMs"`
}

// SessionReporter is an agent that reports the end of each session.
type SessionReporter struct {
	Agent  parley.Agent
	Report func(*SessionReport)
}

var _ parley.Agent = (*SessionReporter)(nil)

// HandleTurn runs the agent, and reports the result that it posted, or why there is no result.
func (s *SessionReporter) HandleTurn(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
	began := time.Now()
	heard := &resultListener{Client: turn.Client}
	turn.Client = heard
	outcome, err := s.Agent.HandleTurn(ctx, turn)
	t := &SessionReport{SessionID: turn.ConversationID, AgentName: turn.Agent, Attempt: turn.Attempt,
		TookMs: time.Since(began).Milliseconds()}
	switch r := heard.result(); {
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
	s.Report(t)
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

func (l *resultListener) result() *parley.SessionResult {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.posted
}

// printSession prints a session on stderr, or with -o json on stdout.
func printSession(a *cli.App, t *SessionReport) {
	if a.Format == cli.FormatJSON {
		_ = a.Out.JSON(t) // a failure of stdout is reported at the end of the program
		return
	}
	a.Err.Line(t.Text())
}

// Text is a line for people.
func (t *SessionReport) Text() string {
	attempt, code, cause := "", "", ""
	if t.Attempt > 1 {
		attempt = fmt.Sprintf(", attempt %d", t.Attempt)
	}
	if t.ExitCode != nil && *t.ExitCode != 0 {
		code = fmt.Sprintf(" with exit code %d", *t.ExitCode)
	}
	if t.Error != "" {
		cause = ": " + cli.Clean(cli.LastLine(t.Error))
	}
	return fmt.Sprintf("%s%s: %s %s%s%s (%d ms)", t.SessionID, attempt, cli.Clean(t.AgentName), t.Status, code, cause,
		t.TookMs)
}
