package conversation

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/hub/journal/memory"
)

// TestListWatch: the list, and then a row for each conversation of the kind asked for that changes;
// a signal ends it.
func TestListWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := memory.New()
		defer j.Close()
		h, err := hub.Open(j, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		ann := h.Client(h.LocalPrincipal("ann"))
		begin := func(id, title string, other parley.Participant) {
			t.Helper()
			if _, err := ann.CreateConversation(t.Context(), &parley.CreateConversationParams{
				ConversationID: id, Title: title, Participants: []parley.Participant{{ID: "ann", Kind: parley.KindHuman}, other},
			}); err != nil {
				t.Fatal(err)
			}
		}
		say := func(id string) {
			t.Helper()
			if _, err := ann.SendMessage(t.Context(),
				&parley.SendMessageParams{ConversationID: id, Payload: []byte(`{"text":"hi"}`),
					Finality: parley.FinalityTurn}); err != nil {
				t.Fatal(err)
			}
		}
		bot, bob := parley.Participant{ID: "bot", Kind: parley.KindAgent},
			parley.Participant{ID: "bob", Kind: parley.KindPeer}
		begin("knee", "MRI of the knee", bot)
		begin("hip", "x-ray", bot)

		var out bytes.Buffer
		ctx, cancel := context.WithCancel(t.Context())
		w := &listWatch{
			app: &cli.App{Out: cli.NewStream(&out), Format: cli.FormatText, Timeout: cli.DefaultTimeout}, client: ann,
			params: parley.ListConversationsParams{Text: "mri", Participant: "bot"},
		}
		ended := make(chan error, 1)
		go func() { ended <- w.run(ctx) }()
		time.Sleep(time.Second) // in the bubble
		say("hip")
		say("knee")
		time.Sleep(time.Second)
		begin("head", "another mri", bob)
		begin("hand", "mri too", bot)
		time.Sleep(time.Second)
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		want := `ID    STATUS  TURN  SEQ  UPDATED                   PARTICIPANTS  FLOOR    TITLE
knee  active  1     1    2000-01-01T00:00:00.000Z  ann bot       ann, 0s  MRI of the knee
knee  active  2     2    2000-01-01T00:00:01.000Z  ann bot       bot, 0s, no executor  MRI of the knee
hand  active  1     1    2000-01-01T00:00:02.000Z  ann bot       ann, 0s               mri too
`
		if out.String() != want {
			t.Errorf("told\n%s, expected\n%s", out.String(), want)
		}
	})
}
