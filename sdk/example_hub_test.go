package sdk_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// exampleTB lets an example have a hub of sdktest, which ends with run.
type exampleTB struct {
	testing.TB
	ctx context.Context
	end []func()
}

func (e *exampleTB) Helper()                      {}
func (e *exampleTB) Context() context.Context     { return e.ctx }
func (e *exampleTB) Cleanup(f func())             { e.end = append(e.end, f) }
func (e *exampleTB) Errorf(s string, args ...any) { fmt.Printf(s+"\n", args...) }
func (e *exampleTB) Fatalf(s string, args ...any) { panic(fmt.Sprintf(s, args...)) }
func (e *exampleTB) Fatal(args ...any)            { panic(fmt.Sprint(args...)) }

func (e *exampleTB) run() {
	for len(e.end) > 0 {
		f := e.end[len(e.end)-1]
		e.end = e.end[:len(e.end)-1]
		f()
	}
}

// askTwice starts a hub where ann talks with an agent, and sets the environment for it. The ctx
// ends after two answers, which are printed; done waits for them and ends the hub.
func askTwice(agent string) (ctx context.Context, done func()) {
	ctx, stop := context.WithCancel(context.Background())
	tb := &exampleTB{ctx: context.Background()}
	h := sdktest.NewHub(tb)
	for name, value := range map[string]string{"PARLEY_URL": h.URL, "PARLEY_TOKEN": h.NewToken(tb, agent)} {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
	ann := h.Client(tb, "ann")
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		defer stop()
		if err := ask(ann, agent, "Hello?", "And now?"); err != nil {
			fmt.Println(err)
		}
	}()
	return ctx, func() {
		<-asked
		tb.run()
	}
}

// ask says texts to an agent, each after the answer to the one before, and prints all that is said.
func ask(c parley.Client, agent string, texts ...string) error {
	ctx := context.Background()
	s, err := c.CreateConversation(ctx, &parley.CreateConversationParams{
		Participants: []parley.Participant{{ID: c.AgentID(), Kind: parley.KindHuman}, {ID: agent, Kind: parley.KindAgent}},
	})
	if err != nil {
		return err
	}
	since := s.LatestSeq
	for _, said := range texts {
		if _, err := c.SendMessage(ctx, &parley.SendMessageParams{ConversationID: s.ConversationID, Payload: text(said),
			Finality: parley.FinalityTurn}); err != nil {
			return err
		}
		u, err := c.GetUpdates(ctx, &parley.GetUpdatesParams{
			ConversationID: s.ConversationID, SinceSeq: since, Until: parley.UntilMyTurn, TimeoutMs: 20_000,
		})
		if err != nil {
			return err
		}
		since = u.NextSeq
		for i := range u.Messages {
			m, err := u.Messages[i].Message()
			if err != nil {
				return err
			}
			fmt.Printf("%s: %s\n", u.Messages[i].From, m.Text)
		}
	}
	return nil
}
