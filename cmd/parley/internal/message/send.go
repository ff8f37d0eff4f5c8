// Package message has the commands send, note, tail and explain, which write and read the events of
// a conversation.
//
//	root.AddCommand(message.NewSendCommand(app))
package message

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/attachment"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/conversation"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
)

type sendFlags struct {
	as, finality, next, claim, key, data, schema, status, reason string
	turn, afterSeq                                               int64
	fenced                                                       bool // by afterSeq
	attach, tags                                                 []string
}

// NewSendCommand returns the command send.
func NewSendCommand(a *cli.App) *cobra.Command {
	var f sendFlags
	c := &cobra.Command{
		Use:   "send ID [TEXT|-]",
		Short: "send a message to a conversation",
		Long: `send appends a message and prints its seq and turn. TEXT may be "-" for stdin; it may be
left out where --data or --attach is given. Files of --attach are added to the conversation first,
and stay there if the message is refused. Repeating a send with the same --key and the same
arguments is safe: the message is posted once.`,
		Args: cobra.RangeArgs(1, 2),
	}
	cli.AddAsFlag(c, &f.as)
	c.Flags().StringVar(&f.finality, "finality", string(parley.FinalityTurn),
		"end with the message: none, turn or conversation")
	c.Flags().StringVar(&f.next, "next", "", "next participant, with the policies addressed and moderator (turnHint)")
	c.Flags().Int64Var(&f.turn, "turn", 0, "turn of the message; refused if it is not the current turn")
	c.Flags().StringVar(&f.claim, "claim", "",
		"claim of the agent's turn (claimId), as printed for an unfinished message")
	c.Flags().Int64Var(&f.afterSeq, "after-seq", 0,
		"last seq that you read; refused if another participant sent a message since")
	c.Flags().StringVar(&f.key, "key", "", "idempotency key (clientRequestId)")
	c.Flags().StringVar(&f.data, "data", "", "JSON that goes with the text")
	c.Flags().StringVar(&f.schema, "schema", "", "schema name of --data")
	c.Flags().StringArrayVar(&f.tags, "tag", nil,
		"label that rules and subscriptions can match; may be repeated")
	c.Flags().StringArrayVar(&f.attach, "attach", nil, "FILE or FILE:type/subtype to attach; may be repeated")
	c.Flags().StringVar(&f.status, "status", "", "outcome, with --finality conversation: completed, failed or canceled")
	c.Flags().StringVar(&f.reason, "reason", "", "reason of the outcome")
	return a.SetRun(c, func(ctx context.Context, args []string) error {
		f.fenced = c.Flags().Changed("after-seq")
		return sendMessage(ctx, a, f, args)
	})
}

func sendMessage(ctx context.Context, a *cli.App, f sendFlags, args []string) error {
	m, p, err := newSendParams(a, f, args)
	if err != nil {
		return err
	}
	client, err := a.Dial(ctx, f.as)
	if err != nil {
		return err
	}
	defer client.Close()
	if m.Attachments, err = attachment.AttachFiles(ctx, a, client, args[0], f.attach); err != nil {
		return err
	}
	if p.Payload, err = json.Marshal(m); err != nil {
		return err
	}
	r, err := cli.Call(ctx, a, client.SendMessage, p)
	if err != nil {
		return err
	}
	if a.Format == cli.FormatJSON {
		return a.Out.JSON(r)
	}
	more := ""
	if r.ClaimID != "" {
		more += " claim " + cli.Clean(r.ClaimID)
	}
	if r.Duplicate {
		more += " (already there)"
	}
	a.Out.Linef("seq %d turn %d%s", r.Seq, r.Turn, more)
	return nil
}

// newSendParams returns the message, and the call that sends it, without its payload.
func newSendParams(a *cli.App, f sendFlags, args []string) (*parley.Message, *parley.SendMessageParams, error) {
	text, err := readText(a, args[1:])
	if err != nil {
		return nil, nil, err
	}
	if text == "" && f.data == "" && len(f.attach) == 0 {
		return nil, nil, exit.Usagef("nothing to say: TEXT, --data or --attach is missing")
	}
	for _, said := range append([]string{text, f.data, f.schema, f.status, f.reason, f.key, f.next, f.claim}, f.tags...) {
		if !utf8.ValidString(said) {
			return nil, nil, ErrNotUTF8
		}
	}
	if f.data != "" && !json.Valid([]byte(f.data)) {
		return nil, nil, exit.Usagef("--data is not JSON")
	}
	finality := parley.Finality(f.finality)
	if !finality.Valid() {
		return nil, nil, exit.Usagef("--finality %s: expected none, turn or conversation", f.finality)
	}
	outcome, err := conversation.ParseOutcome(f.status, f.reason)
	if err != nil {
		return nil, nil, err
	}
	if outcome != nil && finality != parley.FinalityConversation {
		return nil, nil, exit.Usagef("--status and --reason go with --finality conversation")
	}
	if f.next != "" && finality != parley.FinalityTurn {
		return nil, nil, exit.Usagef("--next goes with --finality turn")
	}
	p := &parley.SendMessageParams{ConversationID: args[0], Finality: finality, Turn: f.turn, ClaimID: f.claim,
		Outcome: outcome, ClientRequestID: f.key}
	if f.next != "" {
		p.TurnHint = &parley.TurnHint{Next: f.next}
	}
	if f.fenced {
		p.AfterSeq = &f.afterSeq
	}
	return &parley.Message{Text: text, Data: json.RawMessage(f.data), Schema: f.schema, Tags: f.tags}, p, nil
}

// ErrNotUTF8 refuses texts that JSON cannot have.
var ErrNotUTF8 = exit.Usagef("the message is not UTF-8: the hub would store something else")

func readText(a *cli.App, args []string) (string, error) {
	if len(args) == 0 {
		return "", nil
	}
	if args[0] != "-" {
		return args[0], nil
	}
	b, err := io.ReadAll(a.In)
	return strings.TrimRight(string(b), "\r\n"), err
}
