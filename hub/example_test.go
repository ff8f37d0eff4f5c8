package hub_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal/bolt"
)

// A program embeds a hub with its log in a directory. A hub that is opened again has the same log.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "parley")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()

	withHub := func(use func(context.Context, parley.Client) error) {
		journal, err := bolt.Open(dir, nil)
		if err != nil {
			log.Fatal(err)
		}
		h, err := hub.Open(journal, nil)
		if err != nil {
			log.Fatal(err)
		}
		if err := use(context.Background(), h.Client(h.LocalPrincipal("ann"))); err != nil {
			log.Fatal(err)
		}
		if err := h.Close(); err != nil {
			log.Fatal(err)
		}
		if err := journal.Close(); err != nil {
			log.Fatal(err)
		}
	}
	var id string
	withHub(func(ctx context.Context, ann parley.Client) error {
		s, err := ann.CreateConversation(ctx, &parley.CreateConversationParams{
			Participants: []parley.Participant{{ID: "ann", Kind: parley.KindHuman}},
		})
		if err != nil {
			return err
		}
		id = s.ConversationID
		_, err = ann.SendMessage(ctx, &parley.SendMessageParams{
			ConversationID: id, Payload: json.RawMessage(`{"text":"Remember me"}`), Finality: parley.FinalityTurn,
		})
		return err
	})
	withHub(func(ctx context.Context, ann parley.Client) error {
		page, err := ann.Tail(ctx, &parley.TailParams{ConversationID: id})
		if err != nil {
			return err
		}
		for _, event := range page.Events {
			fmt.Println(event.Seq, event.Type)
		}
		return nil
	})
	// Output:
	// 1 system
	// 2 message
}
