package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/conversation"
	"github.com/parleyhub/parley/cmd/parley/internal/message"
)

const chatHelp = `  /say TEXT        say something and keep the turn
  /note TEXT       leave a note at any time, without the floor
  /why             say whose turn it is, and which rules were tried
  /close [REASON]  close the conversation
  /quit            leave; the seat stays yours`

// noteSchema is the shape of a note that a person leaves: {"text": ...}.
const noteSchema = "parley.note.v1"

// runLine does what a line asks for.
func (c *chat) runLine(ctx context.Context, line string) error {
	if !utf8.ValidString(line) {
		return c.refuseInvalid(line)
	}
	command, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	rest = strings.TrimSpace(rest)
	switch command {
	case "":
		return nil
	case "/say":
		return c.sendText(ctx, line, rest, parley.FinalityNone)
	case "/note":
		return c.sendNote(ctx, line, rest)
	case "/why":
		return c.explain(ctx)
	case "/close":
		return c.closeConversation(ctx, line, rest)
	case "/quit":
		c.left = true
		return nil
	}
	if strings.HasPrefix(command, "/") {
		c.notify("commands:\n" + chatHelp)
		return nil
	}
	return c.sendText(ctx, line, line, parley.FinalityTurn)
}

// refuseInvalid refuses a line that would be kept as something else. A script ends with it; a
// person may type it again.
func (c *chat) refuseInvalid(line string) error {
	if c.term.queues {
		return message.ErrNotUTF8
	}
	c.notify("not said, it is not UTF-8: " + cli.Clean(line))
	return nil
}

func (c *chat) sendNote(ctx context.Context, line, text string) error {
	data, err := encodeText(text)
	if err != nil {
		return err
	}
	p := &parley.SendNoteParams{ConversationID: c.id, Payload: parley.Note{Schema: noteSchema, Data: data}}
	r, err := cli.Call(ctx, c.app, c.client.SendNote, p)
	if err != nil {
		return c.handleRefusal(line, err)
	}
	c.lastSent = r.Seq
	return nil
}

// closeConversation closes the conversation: through the hub where this seat may, else by a last
// word, for which it must have the floor.
func (c *chat) closeConversation(ctx context.Context, line, reason string) error {
	if c.term.queues && !c.hasFloor() {
		c.queueLine(line)
		return nil
	}
	outcome, err := conversation.ParseOutcome("", reason)
	if err != nil {
		return err
	}
	r, err := cli.Call(ctx, c.app, c.client.CloseConversation,
		&parley.CloseConversationParams{ConversationID: c.id, Outcome: outcome})
	if errors.Is(err, parley.ErrForbidden) && c.hasFloor() {
		return c.sendClosingMessage(ctx, line, reason, outcome)
	}
	if err != nil {
		return c.handleRefusal(line, err)
	}
	c.lastSent = r.Seq
	return nil
}

func (c *chat) sendClosingMessage(ctx context.Context, line, reason string, outcome *parley.Outcome) error {
	payload, err := encodeText(cmp.Or(reason, parley.ReasonClosed))
	if err != nil {
		return err
	}
	r, err := cli.Call(ctx, c.app, c.client.SendMessage, &parley.SendMessageParams{
		ConversationID: c.id, Payload: payload, Finality: parley.FinalityConversation,
		Turn: c.guidance.Guidance.Turn, Outcome: outcome,
	})
	if err != nil {
		return c.handleRefusal(line, err)
	}
	c.lastSent = r.Seq
	return nil
}

// encodeText returns {"text": text}.
func encodeText(text string) (json.RawMessage, error) {
	return json.Marshal(parley.Message{Text: text})
}
