package sdk_test

import (
	"context"
	"fmt"
	"log"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/sdk"
)

// A whole agent. It runs until it is interrupted. The example stops it after two questions.
func ExampleRun() {
	ctx, done := askTwice("clinic") // starts a hub, and sets PARLEY_URL and PARLEY_TOKEN
	defer done()

	err := sdk.Run(ctx, "clinic", func(ctx context.Context, t *parley.Turn) error {
		news, err := t.Updates(ctx)
		if err != nil {
			return err
		}
		answer := parley.Message{Text: fmt.Sprintf("%d new messages, turn %d.", len(news.Messages), t.Number)}
		_, err = t.Post(ctx, answer, parley.FinalityTurn)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// ann: Hello?
	// clinic: 1 new messages, turn 2.
	// ann: And now?
	// clinic: 1 new messages, turn 4.
}
