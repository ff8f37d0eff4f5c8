package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/parleyhub/parley"
)

const chatHelp = `  /say TEXT        say something and keep the turn
  /note TEXT       leave a note, whoever has the floor
  /why             say whose turn it is, and which rules were tried
  /close [REASON]  close the conversation
  /quit            leave; the seat stays yours`

// noteSchema is the shape of a note that a person leaves: {"text": ...}.
const noteSchema = "parley.note.v1"

// input does what a line asks for.
func (c *chat) input(ctx context.Context, line string) error {
	if !utf8.ValidString(line) {
		return c.garbled(line)
	}
	command, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	rest = strings.TrimSpace(rest)
	switch command {
	case "":
		return nil
	case "/say":
		return c.say(ctx, line, rest, parley.FinalityNone)
	case "/note":
		return c.note(ctx, line, rest)
	case "/why":
		return c.why(ctx)
	case "/close":
		return c.end(ctx, line, rest)
	case "/quit":
		c.left = true
		return nil
	}
	if strings.HasPrefix(command, "/") {
		c.tell("commands:\n" + chatHelp)
		return nil
	}
	return c.say(ctx, line, line, parley.FinalityTurn)
}

// garbled refuses a line that would be kept as something else. A script ends with it; a person may type it again.
func (c *chat) garbled(line string) error {
	if c.desk.waits {
		return errNotUTF8
	}
	c.tell("not said, it is not UTF-8: " + clean(line))
	return nil
}

func (c *chat) note(ctx context.Context, line, text string) error {
	data, err := encodeText(text)
	if err != nil {
		return err
	}
	p := &parley.SendNoteParams{ConversationID: c.id, Payload: parley.Note{Schema: noteSchema, Data: data}}
	r, err := call(ctx, c.app, c.client.SendNote, p)
	if err != nil {
		return c.refused(line, err)
	}
	c.said = r.Seq
	return nil
}

// end closes the conversation: through the hub where this seat may, else by a last word, for which it must have the floor.
func (c *chat) end(ctx context.Context, line, reason string) error {
	if c.desk.waits && !c.mine() {
		c.keep(line)
		return nil
	}
	outcome, err := parseOutcome("", reason)
	if err != nil {
		return err
	}
	r, err := call(ctx, c.app, c.client.CloseConversation, &parley.CloseConversationParams{ConversationID: c.id, Outcome: outcome})
	if errors.Is(err, parley.ErrForbidden) && c.mine() {
		return c.lastWord(ctx, line, reason, outcome)
	}
	if err != nil {
		return c.refused(line, err)
	}
	c.said = r.Seq
	return nil
}

func (c *chat) lastWord(ctx context.Context, line, reason string, outcome *parley.Outcome) error {
	payload, err := encodeText(cmp.Or(reason, parley.ReasonClosed))
	if err != nil {
		return err
	}
	r, err := call(ctx, c.app, c.client.SendMessage, &parley.SendMessageParams{
		ConversationID: c.id, Payload: payload, Finality: parley.FinalityConversation,
		Turn: c.guidance.Guidance.Turn, Outcome: outcome,
	})
	if err != nil {
		return c.refused(line, err)
	}
	c.said = r.Seq
	return nil
}

// encodeText gives {"text": text}.
func encodeText(text string) (json.RawMessage, error) {
	return json.Marshal(parley.Message{Text: text})
}
