package sdk_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/sdk"
)

// An agent that takes its turns until it is interrupted. The README shows it.
func ExampleRun() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	err := sdk.Run(ctx, "ws://127.0.0.1:7447/rpc", parley.AgentFunc(
		func(ctx context.Context, turn *parley.Turn) (parley.TurnOutcome, error) {
			said, err := turn.Messages(ctx)
			if err != nil {
				return "", err
			}
			_, err = turn.Post(ctx, parley.Message{Text: fmt.Sprintf("I have read %d messages.", len(said))}, parley.FinalityTurn)
			return parley.TurnPosted, err
		}), &sdk.Options{Token: os.Getenv("PARLEY_TOKEN"), AgentID: "bob"})

	if ctx.Err() == nil {
		log.Print(err)
	}
}
