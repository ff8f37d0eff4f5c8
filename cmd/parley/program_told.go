package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/parleyhub/parley"
)

// turnTold is what is told of a turn that a program has had.
type turnTold struct {
	ConversationID string `json:"conversationId"`
	Turn           int64  `json:"turn"`
	Attempt        int    `json:"attempt"`
	AgentID        string `json:"agentId"`
	// Outcome is posted, yield, complete, silent, lost or failed.
	Outcome string `json:"outcome"`
	Error   string `json:"error,omitempty"`
	TookMs  int64  `json:"tookMs"`
}

// told is an agent of which each turn is told.
func (a *app) told(agent parley.Agent) parley.Agent {
	return parley.AgentFunc(func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
		began := time.Now()
		outcome, err := agent.HandleTurn(ctx, turn)
		t := turnTold{
			ConversationID: turn.ConversationID, Turn: turn.Number, Attempt: turn.Attempt, AgentID: turn.AgentID,
			Outcome: string(outcome), TookMs: time.Since(began).Milliseconds(),
		}
		switch {
		case err == nil && outcome == parley.TurnPosted && !turn.Said().Final && !isOver(ctx, turn):
			t.Outcome = "silent"
		case errors.Is(err, parley.ErrClaimLost):
			t.Outcome, t.Error = "lost", err.Error()
		case err != nil:
			t.Outcome, t.Error = "failed", err.Error()
		}
		a.tellTurn(&t)
		return outcome, err
	})
}

// isOver asks whether the turn has ended: the program may have ended it with its own token.
func isOver(ctx context.Context, turn *parley.Turn) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	g, err := turn.Client.GetGuidance(ctx, &parley.GetGuidanceParams{ConversationID: turn.ConversationID})
	return err == nil && (g.Guidance.Kind == parley.Closed || g.Guidance.Turn > turn.Number)
}

func (a *app) tellTurn(t *turnTold) {
	if a.format == formatJSON {
		_ = a.out.json(t) // a failure of stdout is told at the end of the program
		return
	}
	attempt, cause := "", ""
	if t.Attempt > 1 {
		attempt = fmt.Sprintf(", attempt %d", t.Attempt)
	}
	if t.Error != "" {
		cause = ": " + clean(t.Error)
	}
	a.err.linef("%s turn %d%s: %s %s%s (%d ms)", t.ConversationID, t.Turn, attempt, t.AgentID, t.Outcome, cause, t.TookMs)
}

// executorLog tells on stderr what the executor met. It is the slog.Handler of executors.
type executorLog struct {
	a     *app
	attrs []slog.Attr
}

// Enabled wants what a person may have to do something about, and drains.
func (l executorLog) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelInfo
}

// Handle tells it, with where it was and why. That an agent has failed was told already.
func (l executorLog) Handle(_ context.Context, r slog.Record) error {
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
	l.a.err.line(clean(text))
	return nil
}

// WithAttrs adds attributes to all that is told.
func (l executorLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	l.attrs = append(slices.Clip(l.attrs), attrs...)
	return l
}

// WithGroup is the same handler: nothing is told in groups.
func (l executorLog) WithGroup(string) slog.Handler { return l }

var _ slog.Handler = executorLog{}
