// Command hello runs the agent of the README. It answers with the last text of its conversation.
//
//	go run ./examples/hello
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/sdk"
)

func main() {
	err := sdk.Run(context.Background(), "bot", func(ctx context.Context, t *parley.Turn) error {
		messages, err := t.Messages(ctx) // all messages of the conversation
		if err != nil {
			return err
		}
		last, err := messages[len(messages)-1].Message()
		if err != nil {
			return err
		}
		text := fmt.Sprintf("Message %d was: %s", len(messages), last.Text)
		_, err = t.Post(ctx, parley.Message{Text: text}, parley.FinalityTurn)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
}
