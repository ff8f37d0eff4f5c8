package duel

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/sdk"
)

// The environment of a replica.
const (
	EnvReplica = "PARLEY_TORTURE_REPLICA" // its executorId; set, this program is one
	EnvRecords = "PARLEY_TORTURE_RECORDS" // the file that it writes its calls to
	EnvURL     = "PARLEY_URL"
	EnvToken   = "PARLEY_TOKEN"
)

// Agent is the agent that all replicas run.
const Agent = "clinic"

// capacity is how many turns a replica takes at once.
const capacity = 24

// Work on a turn takes shortestWork to longestWork.
const (
	shortestWork = 20 * time.Millisecond
	longestWork  = 220 * time.Millisecond
)

// RunReplica is a replica's process: what a partner would write, but that its client writes down
// what it does.
func RunReplica(id string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop() // before the file is there: by that the test knows that a SIGTERM is noticed
	f, err := os.OpenFile(os.Getenv(EnvRecords), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	r := &Recorder{name: id, to: f, graceMs: limits.MinGraceMs}
	if r.Client, err = dialPatiently(ctx, os.Getenv(EnvURL), os.Getenv(EnvToken), Agent); err != nil {
		if ctx.Err() != nil {
			return nil // it was stopped before its start
		}
		return err
	}
	defer r.Client.Close()
	err = executors.External(r, parley.AgentFunc(answer), &executors.Options{
		ExecutorID: id, Capacity: capacity, Grace: 300 * time.Millisecond,
	}).Run(ctx)
	if err != nil {
		r.note(record{Failed: err.Error()})
	}
	return err
}

// dialPatiently waits for a hub that is not there.
func dialPatiently(ctx context.Context, url, token, as string) (*sdk.Client, error) {
	for {
		c, err := sdk.Dial(ctx, url, &sdk.Options{Token: token, AgentID: as, MaxBackoff: time.Second})
		if !errors.Is(err, parley.ErrUnavailable) {
			return c, err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

var errStumbled = errors.New("stumbled")

// answer is the agent: it reads the question, may say something before the answer, and may fail.
// When its claim is lost it speaks on half of the time: the hub must refuse that.
func answer(ctx context.Context, t *parley.Turn) (parley.TurnOutcome, error) {
	question, err := lastWord(ctx, t)
	if err != nil {
		return "", err
	}
	if rand.IntN(2) == 0 {
		if _, err := t.Post(ctx, parley.Message{Text: "about " + question}, parley.FinalityNone); err != nil {
			return "", err
		}
	}
	work := shortestWork + rand.N(longestWork-shortestWork)
	select {
	case <-time.After(work):
	case <-ctx.Done():
		if rand.IntN(2) == 0 {
			return "", context.Cause(ctx)
		}
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 200*time.Millisecond)
		defer cancel()
		ctx = late
	}
	if rand.IntN(50) == 0 {
		return "", errStumbled
	}
	_, err = t.Post(ctx, parley.Message{Text: fmt.Sprintf("answer to %s", question)}, parley.FinalityTurn)
	return parley.TurnPosted, err
}

// lastWord is what was said last that counts.
func lastWord(ctx context.Context, t *parley.Turn) (string, error) {
	u, err := t.Updates(ctx)
	if err != nil {
		return "", err
	}
	for i := len(u.Messages) - 1; i >= 0; i-- {
		if u.Messages[i].From == Driver {
			m, err := u.Messages[i].Message()
			return m.Text, err
		}
	}
	return "", fmt.Errorf("turn %d of %s without a question", t.Number, t.ConversationID)
}
