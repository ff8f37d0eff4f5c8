package message

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
)

type noteFlags struct {
	as, schema, data, key string
	tags                  []string
}

// NewNoteCommand returns the command note.
func NewNoteCommand(a *cli.App) *cobra.Command {
	var f noteFlags
	c := &cobra.Command{
		Use:   "note ID --schema NAME [--data JSON]",
		Short: "post a note in a conversation",
		Long: `note appends a note and prints its seq. A participant can post a note at any time, because
a note does not change whose turn it is. It triggers the agents whose subscriptions match it.
'parley explain ID --seq N' lists them.

  parley note cnv_1 --schema browser.page.context.v1 --tag page --data '{"url":"https://example.com"}'
  parley note cnv_1 --schema report.v1 --data @report.json --key report-7

Repeating a note with the same --key and the same arguments is safe: it is posted once.`,
		Args: cobra.ExactArgs(1),
	}
	cli.AddAsFlag(c, &f.as)
	c.Flags().StringVar(&f.schema, "schema", "", "schema name of the data, such as order.created.v1 (required)")
	c.Flags().StringArrayVar(&f.tags, "tag", nil, "a free label; may be repeated")
	c.Flags().StringVar(&f.data, "data", "{}", "the data: JSON, @FILE, or - for stdin")
	c.Flags().StringVar(&f.key, "key", "", "idempotency key (clientRequestId)")
	return a.SetRun(c, func(ctx context.Context, args []string) error { return sendNote(ctx, a, &f, args[0]) })
}

func sendNote(ctx context.Context, a *cli.App, f *noteFlags, id string) error {
	p, err := newNoteParams(a, f, id)
	if err != nil {
		return err
	}
	client, err := a.Dial(ctx, f.as)
	if err != nil {
		return err
	}
	defer client.Close()
	r, err := cli.Call(ctx, a, client.SendNote, p)
	if err != nil {
		return err
	}
	if a.Format == cli.FormatJSON {
		return a.Out.JSON(r)
	}
	more := ""
	if r.Duplicate {
		more = " (already there)"
	}
	a.Out.Linef("seq %d%s", r.Seq, more)
	return nil
}

func newNoteParams(a *cli.App, f *noteFlags, id string) (*parley.SendNoteParams, error) {
	if f.schema == "" {
		return nil, exit.Usagef("--schema NAME is missing: it is the shape of the data")
	}
	data, err := readNoteData(a, f.data)
	if err != nil {
		return nil, err
	}
	if !utf8.Valid(data) || !utf8.ValidString(f.schema+f.key+strings.Join(f.tags, "")) {
		return nil, ErrNotUTF8
	}
	if !json.Valid(data) {
		return nil, exit.Usagef("--data is not JSON")
	}
	note := parley.Note{Schema: f.schema, Tags: f.tags, Data: data}
	return &parley.SendNoteParams{ConversationID: id, Payload: note, ClientRequestID: f.key}, nil
}

// readNoteData returns the data of a note: the text, the contents of a file, or stdin.
func readNoteData(a *cli.App, given string) ([]byte, error) {
	name, isFile := strings.CutPrefix(given, "@")
	switch {
	case given == "-":
		return io.ReadAll(a.In)
	case isFile:
		data, err := a.ReadFile(name)
		if err != nil {
			return nil, exit.Usage(err)
		}
		return data, nil
	}
	return []byte(given), nil
}
