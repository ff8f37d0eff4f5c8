package sdk_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/hub/journal"
	"github.com/parleyhub/parley/sdk"
	"github.com/parleyhub/parley/sdk/sdktest"
)

// TestUnknownOutcomeIsFoundOut: the commit's outcome is unknown, the hub restarts, and the message
// is there once.
func TestUnknownOutcomeIsFoundOut(t *testing.T) {
	t.Parallel()
	for _, written := range []bool{true, false} {
		t.Run(fmt.Sprint("written ", written), func(t *testing.T) {
			h := sdktest.NewHub(t)
			id := openConversation(t, h, "a")
			c := h.Dial(t, eager(h.NewToken(t, "a")))
			if written {
				h.Journal().LoseNext()
			} else {
				h.Journal().FailNext(journal.ErrOutcomeUnknown)
			}
			sent := make(chan error, 1)
			var r *parley.SendResult
			go func() {
				var err error
				r, err = c.SendMessage(
					t.Context(),
					&parley.SendMessageParams{ConversationID: id, Payload: text("once"), Finality: parley.FinalityTurn},
				)
				sent <- err
			}()
			<-h.Failed()
			h.Restart(t)
			if err := <-sent; err != nil {
				t.Fatal(err)
			}
			page, err := c.Tail(t.Context(), &parley.TailParams{ConversationID: id, SinceSeq: 1})
			if err != nil {
				t.Fatal(err)
			}
			if len(page.Events) != 1 || page.Events[0].Seq != r.Seq {
				t.Errorf("the log has %d messages, the result is %+v", len(page.Events), r)
			}
		})
	}
}

// TestLostAnswers: the connection breaks after a call was sent. What cannot be repeated says so.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		call func(ctx context.Context, c *sdk.Client, id string) error
		want error
	}{
		"createToken": {func(ctx context.Context, c *sdk.Client, _ string) error {
			_, err := c.CreateToken(ctx, &parley.CreateTokenParams{AgentID: "a"})
			return err
		}, parley.ErrOutcomeUnknown},
		"closeConversation": {func(ctx context.Context, c *sdk.Client, id string) error {
			r, err := c.CloseConversation(ctx, &parley.CloseConversationParams{ConversationID: id})
			if err == nil && (!r.Duplicate || r.Seq != 2) {
				return fmt.Errorf("result %+v", r)
			}
			return err
		}, nil},
		"sendMessage": {func(ctx context.Context, c *sdk.Client, id string) error {
			r, err := c.SendMessage(ctx, &parley.SendMessageParams{ConversationID: id, Payload: text("x"), Finality: parley.FinalityTurn})
			if err == nil && (!r.Duplicate || r.Seq != 2) {
				return fmt.Errorf("result %+v", r)
			}
			return err
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := sdktest.NewHub(t)
			p := newProxy(t, h.URL)
			s, err := h.Admin(t).CreateConversation(t.Context(), ab())
			if err != nil {
				t.Fatal(err)
			}
			id := s.ConversationID
			o := eager(h.Token)
			o.AgentID = "a"
			client := dial(t, p.url, o)
			p.muteHub()
			done := h.Journal().Watch()
			ended := make(chan error, 1)
			go func() { ended <- c.call(t.Context(), client, id) }()
			<-done // and the answer gets lost
			p.cut()
			if err := <-ended; !errors.Is(err, c.want) {
				t.Errorf("got %v, expected %v", err, c.want)
			}
		})
	}
}

// TestWriteWhoseTimeIsUp: it says both that its time is up and that it may have been done.
func TestWriteWhoseTimeIsUp(t *testing.T) {
	t.Parallel()
	h := sdktest.NewHub(t)
	id := openConversation(t, h, "a")
	c := h.Dial(t, eager(h.NewToken(t, "a")))
	h.Journal().Hold()
	defer h.Journal().Release()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := c.SendMessage(
		ctx,
		&parley.SendMessageParams{ConversationID: id, Payload: text("x"), Finality: parley.FinalityTurn},
	)
	if !errors.Is(err, parley.ErrOutcomeUnknown) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, expected both ErrOutcomeUnknown and DeadlineExceeded", err)
	}
	_, err = c.SendMessage(
		ctx,
		&parley.SendMessageParams{ConversationID: id, Payload: text("x"), Finality: parley.FinalityTurn},
	)
	if errors.Is(err, parley.ErrOutcomeUnknown) {
		t.Errorf("a call that was never made gives %v", err)
	}
}
