package sdktest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// exampleTB is the testing.T of an example. A test passes its t.
type exampleTB struct {
	testing.TB
	cleanups []func()
}

func (t *exampleTB) Helper()                         {}
func (t *exampleTB) Context() context.Context        { return context.Background() }
func (t *exampleTB) Cleanup(f func())                { t.cleanups = append(t.cleanups, f) }
func (t *exampleTB) Errorf(text string, args ...any) { fmt.Printf(text+"\n", args...) }
func (t *exampleTB) Fatal(args ...any)               { panic(fmt.Sprint(args...)) }
func (t *exampleTB) Fatalf(text string, args ...any) { panic(fmt.Sprintf(text, args...)) }

func (t *exampleTB) end() {
	for i := len(t.cleanups) - 1; i >= 0; i-- {
		t.cleanups[i]()
	}
}

// A test starts a hub, creates a conversation and connects clients. All of them end with the test.
func ExampleNewHub() {
	t := &exampleTB{} // in a test, the *testing.T
	defer t.end()

	h := sdktest.NewHub(t)
	id := h.Create(t, "alice", "bob")
	alice, bob := h.Client(t, "alice"), h.Client(t, "bob")
	_, err := alice.SendMessage(t.Context(), &parley.SendMessageParams{
		ConversationID: id, Payload: json.RawMessage(`{"text":"hello"}`), Finality: parley.FinalityTurn,
	})
	if err != nil {
		t.Fatal(err)
	}
	updates, err := bob.GetUpdates(t.Context(), &parley.GetUpdatesParams{ConversationID: id})
	if err != nil {
		t.Fatal(err)
	}
	for _, event := range updates.Messages {
		fmt.Println(event.From, string(event.Payload))
	}
	fmt.Println("bob:", updates.Guidance.Kind)
	// Output:
	// alice {"text":"hello"}
	// bob: may_speak
}
