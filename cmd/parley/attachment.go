package main

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
)

func (a *app) attachmentCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "attachment",
		Short: "add files to conversations and get them back",
	}, a.attachmentPutCommand(), a.attachmentGetCommand())
}

type putFlags struct {
	as, name, mediaType string
}

func (a *app) attachmentPutCommand() *cobra.Command {
	var f putFlags
	c := &cobra.Command{
		Use:   "put ID FILE|-",
		Short: "add a file to a conversation",
		Long: `put adds a file of at most 16 MiB to a conversation that is open and prints its SHA-256, by which messages refer to it and "attachment get"
finds it. The same bytes again are the same attachment. "parley send --attach FILE" does this and says something with it.`,
		Args: cobra.ExactArgs(2),
	}
	asFlag(c, &f.as)
	c.Flags().StringVar(&f.name, "name", "", "what readers are told it is called (default: the name of FILE)")
	c.Flags().StringVar(&f.mediaType, "type", "", "what readers are told it is, such as application/pdf (default: by the name)")
	return a.does(c, func(ctx context.Context, args []string) error { return a.putAttachment(ctx, f, args[0], args[1]) })
}

func (a *app) putAttachment(ctx context.Context, f putFlags, id, file string) error {
	p, err := a.readAttachment(file)
	if err != nil {
		return err
	}
	p.ConversationID, p.Name = id, cmp.Or(f.name, p.Name)
	p.MediaType = cmp.Or(f.mediaType, typeOf(p.Name))
	client, err := a.dial(ctx, f.as)
	if err != nil {
		return err
	}
	defer client.Close()
	r, err := call(ctx, a, client.PutAttachment, p)
	if err != nil {
		return err
	}
	if a.format == formatJSON {
		return a.out.json(r)
	}
	if r.Duplicate {
		a.err.linef("already there, at seq %d", r.Seq)
	}
	a.out.line(clean(r.SHA256))
	return nil
}

// readAttachment reads a file that is to be added; "-" is stdin, which has no name.
func (a *app) readAttachment(file string) (*parley.PutAttachmentParams, error) {
	in, name := a.in, ""
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
		return nil, parley.Refuse(parley.ErrTooLarge, file+" is too large", fmt.Sprintf("at most %d bytes", parley.MaxAttachmentBytes))
	}
	return &parley.PutAttachmentParams{Data: data, Name: name}, nil
}

// typeOf guesses the type of a file by its name; empty when there is no guess.
func typeOf(name string) string { return mime.TypeByExtension(filepath.Ext(name)) }

// attach adds the files of --attach to a conversation and gives what a message says of them.
func (a *app) attach(ctx context.Context, client parley.Client, id string, files []string) ([]parley.Attachment, error) {
	var out []parley.Attachment
	for _, given := range files {
		file, mediaType := splitType(given)
		p, err := a.readAttachment(file)
		if err != nil {
			return nil, err
		}
		p.ConversationID, p.MediaType = id, cmp.Or(mediaType, typeOf(file))
		r, err := call(ctx, a, client.PutAttachment, p)
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
