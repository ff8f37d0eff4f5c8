package sdk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/sdk"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// A client connects with a token and speaks as its participant.
func ExampleDial() {
	tb := &exampleTB{ctx: context.Background()}
	defer tb.run()
	hub := sdktest.NewHub(tb) // in production, a hub at an address such as wss://chat.example.com/rpc
	token := hub.NewToken(tb, "ann")

	ctx := context.Background()
	c, err := sdk.Dial(ctx, hub.URL, &sdk.Options{Token: token})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	conversation, err := c.CreateConversation(ctx, &parley.CreateConversationParams{
		Participants: []parley.Participant{{ID: "ann", Kind: parley.KindHuman}, {ID: "ben", Kind: parley.KindHuman}},
	})
	if err != nil {
		log.Fatal(err)
	}
	sent, err := c.SendMessage(ctx, &parley.SendMessageParams{
		ConversationID: conversation.ConversationID,
		Payload:        json.RawMessage(`{"text":"Hello, Ben"}`),
		Finality:       parley.FinalityTurn,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(c.AgentID(), "wrote seq", sent.Seq, "in turn", sent.Turn)
	// Output:
	// ann wrote seq 2 in turn 1
}

// Serve runs an agent with an explicit address and options. Here the agent yields turns in which it
// has nothing to say.
func ExampleServe() {
	tb := &exampleTB{ctx: context.Background()}
	defer tb.run()
	hub := sdktest.NewHub(tb)
	token := hub.NewToken(tb, "quiet")

	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	quiet := parley.AgentFunc(func(context.Context, *parley.Turn) (parley.TurnOutcome, error) {
		return parley.TurnNoAction, nil
	})
	go func() { ended <- sdk.Serve(ctx, hub.URL, quiet, &sdk.Options{Token: token}, nil) }()

	if err := ask(hub.Client(tb, "ann"), "quiet", "Are you there?", "Hello?"); err != nil {
		log.Fatal(err)
	}
	stop()
	fmt.Println("ended:", <-ended)
	// Output:
	// ann: Are you there?
	// ann: Hello?
	// ended: <nil>
}

// URLs checks the addresses of several hubs that share a log. A client connects to one of them, and
// to another one when it loses the connection.
func ExampleURLs() {
	urls, err := sdk.URLs("wss://a.example.com, wss://b.example.com/rpc")
	if err != nil {
		log.Fatal(err)
	}
	for _, url := range urls {
		fmt.Println(url)
	}
	// Output:
	// wss://a.example.com/rpc
	// wss://b.example.com/rpc
}
