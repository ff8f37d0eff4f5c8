package duel

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/history"
	"github.com/parleyhub/parley/internal/limits"
)

// Driver is the participant who asks.
const Driver = "ann"

const (
	// ClaimMs and WindowMs are the limits of the conversations: short, so that claims lapse often.
	ClaimMs  = 400
	WindowMs = 60
)

// question is what the driver says in a turn.
func question(turn int64) string { return fmt.Sprintf("question %d", turn) }

// Create makes a conversation of the driver and the agent with short claims.
func Create(ctx context.Context, c parley.Client, id string) error {
	_, err := c.CreateConversation(ctx, &parley.CreateConversationParams{
		ConversationID: id,
		Participants:   []parley.Participant{{ID: Driver, Kind: parley.KindHuman}, {ID: Agent, Kind: parley.KindAgent}},
		Limits: &parley.Limits{TurnTimeoutMs: ClaimMs, ClaimWindowMs: WindowMs, MaxAttempts: limits.MaxAttemptsLimit,
			MaxEvents: parley.MaxEventsLimit},
	})
	return err
}

// Drive asks in one conversation until left, which all conversations share, is used up, and then
// closes it. A question that waits longer than patience for its answer is an error.
func Drive(ctx context.Context, c parley.Client, id string, left *atomic.Int64, patience time.Duration) error {
	var since int64
	for last := false; ; {
		u, err := awaitTurn(ctx, c, id, since, patience)
		if err != nil {
			return fmt.Errorf("%s after seq %d: %w", id, since, err)
		}
		if u.Status == parley.StatusClosed {
			if !last {
				return fmt.Errorf("%s was closed: %+v", id, u)
			}
			return nil
		}
		turn := u.Guidance.Turn
		if turn > 1 {
			if err := fits(u.Messages, turn-1); err != nil {
				return fmt.Errorf("%s: %w", id, err)
			}
		}
		last = left.Add(-1) < 0
		finality := parley.FinalityTurn
		if last {
			finality = parley.FinalityConversation
		}
		payload, err := json.Marshal(parley.Message{Text: question(turn)})
		if err != nil {
			return err
		}
		r, err := c.SendMessage(ctx, &parley.SendMessageParams{
			ConversationID: id, Payload: payload, Finality: finality, Turn: turn, ClientRequestID: fmt.Sprintf("ask-%d", turn),
		})
		if err != nil {
			return fmt.Errorf("%s: question of turn %d: %w", id, turn, err)
		}
		if since = r.Seq; last {
			return nil
		}
	}
}

// awaitTurn waits until the driver may ask.
func awaitTurn(ctx context.Context, c parley.Client, id string, since int64,
	patience time.Duration) (*parley.GetUpdatesResult, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("no answer within %s", patience))
	defer cancel()
	for {
		u, err := c.GetUpdates(ctx, &parley.GetUpdatesParams{ConversationID: id, SinceSeq: since, TimeoutMs: 10_000,
			Until: parley.UntilMyTurn})
		if err != nil {
			return nil, fmt.Errorf("%w (%w)", err, context.Cause(ctx))
		}
		if u.Guidance.Kind != parley.Wait {
			return u, nil
		}
	}
}

// fits holds the messages that were seen since a question against it: one answer, to that question,
// and nothing after it.
func fits(messages []parley.Event, turn int64) error {
	for i, e := range messages {
		m, err := e.Message()
		if err != nil {
			return err
		}
		final := i == len(messages)-1
		if e.Finality.Final() != final || e.Turn != turn || final && m.Text != "answer to "+question(turn-1) {
			return fmt.Errorf("message %d of %d in turn %d is %q (turn %d, %s)", i+1, len(messages), turn, m.Text, e.Turn,
				e.Finality)
		}
	}
	if len(messages) == 0 {
		return fmt.Errorf("turn %d has no answer", turn)
	}
	return nil
}

// Missing names the calls that were acknowledged with a seq at which the log has something else.
func Missing(ops []history.Op, logs map[string][]parley.Event) []string {
	var out []string
	for _, o := range ops {
		if o.Seq == 0 {
			continue
		}
		log := logs[o.Conversation]
		if o.Seq > int64(len(log)) || log[o.Seq-1].ClientRequestID != o.Key || log[o.Seq-1].Turn != o.Turn {
			out = append(out, o.String())
		}
	}
	return out
}
