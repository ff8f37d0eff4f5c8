package clitest

import (
	"context"
	"encoding/json"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/sdk"
)

type agentsKey struct{}

// scriptAgent is an agent at work on a turn of a conversation, for a script.
type scriptAgent struct {
	client *sdk.Client
	claim  string
}

// claimTurn takes the turn that the token of the script has, or stays with it.
func claimTurn(ts *testscript.TestScript, id string) *scriptAgent {
	askers := ts.Value(agentsKey{}).(map[string]*scriptAgent)
	if a := askers[id]; a != nil {
		return a
	}
	ctx := context.Background()
	client, err := sdk.Dial(ctx, ts.Getenv(cli.EnvURL), &sdk.Options{Token: ts.Getenv(cli.EnvToken)})
	ts.Check(err)
	ts.Defer(func() { client.Close() })
	g, err := client.GetGuidance(ctx, &parley.GetGuidanceParams{ConversationID: id})
	ts.Check(err)
	c, err := client.ClaimTurn(ctx, &parley.ClaimTurnParams{ConversationID: id, Turn: g.Guidance.Turn})
	ts.Check(err)
	askers[id] = &scriptAgent{client: client, claim: c.ClaimID}
	return askers[id]
}

func requestApproval(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, len(args) >= 3 && len(args) <= 5, "asks ID KEY TITLE [DETAILS [SCHEMA]]")
	a := claimTurn(ts, args[0])
	p := &parley.RequestApprovalParams{ConversationID: args[0], ClaimID: a.claim, Key: args[1], Title: args[2]}
	for i, text := range args[3:] {
		*[]*json.RawMessage{&p.Details, &p.AnswerSchema}[i] = json.RawMessage(text)
	}
	asked, err := a.client.RequestApproval(context.Background(), p)
	ts.Check(err)
	ts.Setenv("APPROVAL", asked.ApprovalID)
}

func endTurn(ts *testscript.TestScript, neg bool, args []string) {
	wantArgs(ts, neg, len(args) == 1, "ends-turn ID")
	a := claimTurn(ts, args[0])
	_, err := a.client.SendMessage(context.Background(), &parley.SendMessageParams{
		ConversationID: args[0], ClaimID: a.claim, Payload: json.RawMessage(`{"text":"done"}`), Finality: parley.FinalityTurn,
	})
	ts.Check(err)
	delete(ts.Value(agentsKey{}).(map[string]*scriptAgent), args[0])
}
