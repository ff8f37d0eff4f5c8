package runner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
)

// turnReport is the report of one turn of a program.
type turnReport struct {
	ConversationID string `json:"conversationId"`
	Turn           int64  `json:"turn"`
	Attempt        int    `json:"attempt"`
	AgentID        string `json:"agentId"`
	// Outcome is posted, yield, complete, silent, lost or failed.
	Outcome string `json:"outcome"`
	Error   string `json:"error,omitempty"`
	TookMs  int64  `json:"tookMs"`
}

// ReportTurns returns an agent that prints a report of each turn.
func ReportTurns(a *cli.App, agent parley.Agent) parley.Agent {
	return parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		began := time.Now()
		outcome, err := agent.HandleTurn(ctx, turn)
		t := turnReport{
			ConversationID: turn.ConversationID, Turn: turn.Number, Attempt: turn.Attempt, AgentID: turn.AgentID,
			Outcome: string(outcome), TookMs: time.Since(began).Milliseconds(),
		}
		switch {
		case err == nil && outcome == parley.TurnPosted && !turn.Said().Final && !hasEnded(ctx, turn):
			t.Outcome = "silent"
		case errors.Is(err, parley.ErrClaimLost):
			t.Outcome, t.Error = "lost", err.Error()
		case err != nil:
			t.Outcome, t.Error = "failed", err.Error()
		}
		printTurn(a, &t)
		return outcome, err
	})
}

// hasEnded reports whether the turn is over: the program may have finished it with its token.
func hasEnded(ctx context.Context, turn *parley.Turn) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	g, err := turn.Client.GetGuidance(ctx, &parley.GetGuidanceParams{ConversationID: turn.ConversationID})
	return err == nil && (g.Guidance.Kind == parley.Closed || g.Guidance.Turn > turn.Number)
}

func printTurn(a *cli.App, t *turnReport) {
	if a.Format == cli.FormatJSON {
		_ = a.Out.JSON(t) // a failure of stdout is reported at the end of the program
		return
	}
	attempt, cause := "", ""
	if t.Attempt > 1 {
		attempt = fmt.Sprintf(", attempt %d", t.Attempt)
	}
	if t.Error != "" {
		cause = ": " + cli.Clean(t.Error)
	}
	a.Err.Linef("%s turn %d%s: %s %s%s (%d ms)", t.ConversationID, t.Turn, attempt, t.AgentID, t.Outcome, cause, t.TookMs)
}

// ExecutorLog prints the log of the executor on stderr. It is the slog.Handler of executors.
type ExecutorLog struct {
	App   *cli.App
	attrs []slog.Attr
}

// Enabled wants what a person may have to do something about, and drains.
func (l ExecutorLog) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo
}

// Handle prints a record with its attributes. It skips failures of the agent, which ReportTurns
// reports.
func (l ExecutorLog) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "the agent has failed" {
		return nil
	}
	attrs := slices.Clone(l.attrs)
	r.Attrs(func(at slog.Attr) bool {
		attrs = append(attrs, at)
		return true
	})
	text := "-- " + r.Message
	for _, at := range attrs {
		if at.Key != "executor" && at.Key != "place" {
			text += fmt.Sprintf("; %s %s", at.Key, at.Value)
		}
	}
	l.App.Err.Line(cli.Clean(text))
	return nil
}

// WithAttrs adds attributes to all records.
func (l ExecutorLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	l.attrs = append(slices.Clip(l.attrs), attrs...)
	return l
}

// WithGroup returns the same handler, since records have no groups.
func (l ExecutorLog) WithGroup(string) slog.Handler { return l }

var _ slog.Handler = ExecutorLog{}
