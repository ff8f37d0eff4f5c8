// Package attachment has the command attachment, which adds files to conversations and fetches
// them.
//
//	root.AddCommand(attachment.NewCommand(app))
package attachment

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"mime"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
)

// NewCommand returns the command attachment.
func NewCommand(a *cli.App) *cobra.Command {
	return cli.NewGroup(&cobra.Command{
		Use:   "attachment",
		Short: "add files to conversations and download them",
	}, newPutCommand(a), newGetCommand(a))
}

type putFlags struct {
	as, name, mediaType string
}

func newPutCommand(a *cli.App) *cobra.Command {
	var f putFlags
	c := &cobra.Command{
		Use:   "put ID FILE|-",
		Short: "add a file to a conversation",
		Long: `put adds a file of at most 16 MiB to an open conversation and prints its SHA-256. Messages
and "attachment get" refer to the file by this hash. Adding the same bytes again has no effect.
"parley send --attach FILE" adds a file and sends a message with it.`,
		Args: cobra.ExactArgs(2),
	}
	cli.AddAsFlag(c, &f.as)
	c.Flags().StringVar(&f.name, "name", "", "displayed name of the file (default: the name of FILE)")
	c.Flags().StringVar(&f.mediaType, "type", "",
		"media type of the file, such as application/pdf (default: by the name)")
	return a.SetRun(c,
		func(ctx context.Context, args []string) error { return putAttachment(ctx, a, f, args[0], args[1]) })
}

func putAttachment(ctx context.Context, a *cli.App, f putFlags, id, file string) error {
	p, err := readAttachment(a, file)
	if err != nil {
		return err
	}
	p.ConversationID, p.Name = id, cmp.Or(f.name, p.Name)
	p.MediaType = cmp.Or(f.mediaType, guessType(p.Name))
	client, err := a.Dial(ctx, f.as)
	if err != nil {
		return err
	}
	defer client.Close()
	r, err := cli.Call(ctx, a, client.PutAttachment, p)
	if err != nil {
		return err
	}
	if a.Format == cli.FormatJSON {
		return a.Out.JSON(r)
	}
	if r.Duplicate {
		a.Err.Linef("already there, at seq %d", r.Seq)
	}
	a.Out.Line(cli.Clean(r.SHA256))
	return nil
}

// readAttachment reads a file that is to be added; "-" is stdin, which has no name.
func readAttachment(a *cli.App, file string) (*parley.PutAttachmentParams, error) {
	in, name := a.In, ""
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in, name = f, filepath.Base(file)
	}
	data, err := io.ReadAll(io.LimitReader(in, parley.MaxAttachmentBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > parley.MaxAttachmentBytes {
		return nil, parley.Refuse(parley.ErrTooLarge, file+" is too large",
			fmt.Sprintf("at most %d bytes", parley.MaxAttachmentBytes))
	}
	return &parley.PutAttachmentParams{Data: data, Name: name}, nil
}

// guessType guesses the type of a file by its name; empty when there is no guess.
func guessType(name string) string { return mime.TypeByExtension(filepath.Ext(name)) }

// AttachFiles adds the files of --attach to a conversation, and returns what a message has to name.
func AttachFiles(ctx context.Context, a *cli.App, client parley.Client, id string, files []string) ([]parley.Attachment,
	error) {
	var out []parley.Attachment
	for _, given := range files {
		file, mediaType := splitType(given)
		p, err := readAttachment(a, file)
		if err != nil {
			return nil, err
		}
		p.ConversationID, p.MediaType = id, cmp.Or(mediaType, guessType(file))
		r, err := cli.Call(ctx, a, client.PutAttachment, p)
		if err != nil {
			return nil, err
		}
		out = append(out, parley.Attachment{SHA256: r.SHA256, Name: p.Name, MediaType: p.MediaType})
	}
	return out, nil
}

// splitType splits FILE:type/subtype. A file whose name looks so is taken for what it is.
func splitType(given string) (file, mediaType string) {
	if _, err := os.Stat(given); err == nil {
		return given, ""
	}
	at := strings.LastIndexByte(given, ':')
	if at < 0 || strings.Count(given[at:], "/") != 1 {
		return given, ""
	}
	return given[:at], given[at+1:]
}
