package sdk_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/sdk"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// environ sets what Run reads.
func environ(t *testing.T, url, token string) {
	t.Setenv("PARLEY_URL", url)
	t.Setenv("PARLEY_TOKEN", token)
}

// unused is a handler that is not to be called.
func unused(context.Context, *parley.Turn) error { return errors.New("no turn is expected") }

// TestRunDrains checks that when ctx ends, the running turn finishes and Run returns nil.
func TestRunDrains(t *testing.T) {
	h := sdktest.NewHub(t)
	id := h.Create(t, "bob", "ann")
	environ(t, h.URL, h.NewToken(t, "bob"))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	err := sdk.Run(ctx, "bob", func(ctx context.Context, turn *parley.Turn) error {
		stop()
		_, err := turn.Post(ctx, parley.Message{Text: "the last word"}, parley.FinalityTurn)
		return err
	})
	if err != nil {
		t.Errorf("Run ended with %v", err)
	}
	u, err := h.Client(t, "ann").GetUpdates(t.Context(), &parley.GetUpdatesParams{ConversationID: id})
	if err != nil || len(u.Messages) != 1 || u.Guidance.Speaker != "ann" {
		t.Errorf("after the drain: %+v, %v", u, err)
	}
}

// TestRunDrainsBySignal: SIGTERM to the process is the end of ctx.
func TestRunDrainsBySignal(t *testing.T) {
	h := sdktest.NewHub(t)
	id := h.Create(t, "bob", "ann")
	environ(t, h.URL, h.NewToken(t, "bob"))
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	err = sdk.Run(t.Context(), "bob", func(ctx context.Context, turn *parley.Turn) error {
		if err := self.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		_, err := turn.Post(ctx, parley.Message{Text: "the last word"}, parley.FinalityTurn)
		return err
	})
	if err != nil {
		t.Errorf("Run ended with %v", err)
	}
	u, err := h.Client(t, "ann").GetUpdates(t.Context(), &parley.GetUpdatesParams{ConversationID: id})
	if err != nil || len(u.Messages) != 1 {
		t.Errorf("after the drain: %+v, %v", u, err)
	}
}

// TestRunWaitsForTheHub: a hub that is not there yet is waited for, and one that is started again is found.
func TestRunWaitsForTheHub(t *testing.T) {
	h := sdktest.NewHub(t)
	token := h.NewToken(t, "bob")
	h.Drain(t)
	environ(t, h.URL, token)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() {
		ended <- sdk.Run(ctx, "bob", func(ctx context.Context, turn *parley.Turn) error {
			_, err := turn.Complete(ctx, parley.Message{Text: "done"}, parley.Outcome{Status: parley.OutcomeCompleted})
			return err
		})
	}()
	for range 2 {
		h.Restart(t)
		id := h.Create(t, "bob", "ann")
		u, err := h.Client(t, "ann").GetUpdates(t.Context(), &parley.GetUpdatesParams{ConversationID: id, Until: parley.UntilClosed, TimeoutMs: 20_000})
		if err != nil || u.Status != parley.StatusClosed {
			t.Fatalf("the conversation: %+v, %v", u, err)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("Run ended with %v", err)
	}
}

// TestRunRefused: what no retry mends is not tried again.
func TestRunRefused(t *testing.T) {
	h := sdktest.NewHub(t)
	environ(t, h.URL, "plt_none_none")
	if err := sdk.Run(t.Context(), "bob", unused); !errors.Is(err, parley.ErrUnauthenticated) {
		t.Errorf("with a token that is none Run ended with %v", err)
	}
	environ(t, h.URL, h.NewToken(t, "bob"))
	if err := sdk.Run(t.Context(), "ann", unused); !errors.Is(err, parley.ErrForbidden) {
		t.Errorf("with a token of another Run ended with %v", err)
	}
	environ(t, h.URL, h.NewToken(t, "bob", parley.ScopeRead, parley.ScopeWrite))
	if err := sdk.Run(t.Context(), "bob", unused); !errors.Is(err, parley.ErrForbidden) || !strings.Contains(err.Error(), "claim") {
		t.Errorf("with a token without the scope claim Run ended with %v", err)
	}
}

// TestRunNamesWhatIsMissing in the environment.
func TestRunNamesWhatIsMissing(t *testing.T) {
	for _, c := range [][3]string{{"", "plt_x_y", "PARLEY_URL"}, {"ws://127.0.0.1:1/rpc", "", "PARLEY_TOKEN"}} {
		environ(t, c[0], c[1])
		if err := sdk.Run(t.Context(), "bob", unused); err == nil || !strings.Contains(err.Error(), c[2]+" is not set") {
			t.Errorf("without %s Run ended with %v", c[2], err)
		}
	}
}
