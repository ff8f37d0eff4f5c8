//go:build linux

package disk

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/methods"
)

const (
	// damageConversations is how many the log has that is damaged.
	damageConversations = 24
	// damageTurns is how many turns of each participant the longest has: enough for its state to be
	// kept.
	damageTurns = 30
)

// damageWorld makes a log by a hub: turns that were claimed, traces, files, conversations that are
// open and closed. Nothing of it is waiting for a time.
func damageWorld(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	h := program.Start(t, dir)
	for i := range damageConversations {
		talk(t, h, i)
	}
	h.Stop(t)
	return dir
}

// talk fills a conversation.
func talk(t *testing.T, h *hubproc.Hub, i int) {
	t.Helper()
	id := fmt.Sprint("talk-", i)
	person, bot := mustDialAs(t, h, "person"), mustDialAs(t, h, "bot")
	defer person.Close()
	defer bot.Close()
	person.must(t, methods.CreateConversation, parley.CreateConversationParams{
		ConversationID: id, Title: "talk", Policy: &parley.Policy{Kind: parley.PolicyRoundRobin},
		Participants: []parley.Participant{{ID: "person", Kind: parley.KindHuman}, {ID: "bot", Kind: parley.KindAgent}},
	}, &parley.Snapshot{})
	if i%3 == 0 {
		file := []byte(strings.Repeat(fmt.Sprint("file ", i, " "), 100+500*i))
		var kept parley.PutAttachmentResult
		person.must(t, methods.PutAttachment, parley.PutAttachmentParams{ConversationID: id, Data: file, Name: "file"}, &kept)
		if sum := sha256.Sum256(file); kept.SHA256 != hex.EncodeToString(sum[:]) {
			t.Fatalf("the file is kept as %s", kept.SHA256)
		}
	}
	turns := 1 + i%4
	if i == 0 {
		turns = damageTurns
	}
	for n := range turns {
		asked := say(t, person, id, fmt.Sprintf("question %d %s", n, strings.Repeat("?", 50*i)), "", parley.FinalityTurn)
		var claim parley.ClaimTurnResult
		bot.must(t, methods.ClaimTurn, parley.ClaimTurnParams{ConversationID: id, Turn: asked + 1}, &claim)
		bot.must(t, methods.SendTrace, parley.SendTraceParams{
			ConversationID: id, ClaimID: claim.ClaimID, Payload: json.RawMessage(`{"kind":"thought","text":"an answer"}`),
		}, &parley.SendResult{})
		say(t, bot, id, fmt.Sprintf("answer %d %s", n, strings.Repeat("!", 100*i)), claim.ClaimID, parley.FinalityTurn)
	}
	if i%4 == 1 {
		say(t, person, id, "the end", "", parley.FinalityConversation)
	}
}

// say posts a message and returns its turn.
func say(t *testing.T, c *caller, conversation, text, claim string, finality parley.Finality) int64 {
	t.Helper()
	payload, err := json.Marshal(parley.Message{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	var r parley.SendResult
	c.must(t, methods.SendMessage, parley.SendMessageParams{ConversationID: conversation, Payload: payload, Finality: finality, ClaimID: claim}, &r)
	return r.Turn
}

func mustDialAs(t *testing.T, h *hubproc.Hub, agent string) *caller {
	t.Helper()
	c, err := dial(h, agent)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
