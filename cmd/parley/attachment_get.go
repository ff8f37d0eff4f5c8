package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
)

type getFlags struct {
	as, to string
	named  bool
}

func (a *app) attachmentGetCommand() *cobra.Command {
	var f getFlags
	c := &cobra.Command{
		Use:   "get ID SHA256",
		Short: "get a file that was added to a conversation",
		Long: `get writes the file once all of it has come and has that SHA-256. --to says where; a file that is there is replaced, but nothing
else, and nothing in the directory of a log. -O takes the name that its author gave it, in the current directory and only if nothing has
that name yet.

Whoever added the file chose its name and what is in it. Neither was looked at.`,
		Args: cobra.ExactArgs(2),
	}
	asFlag(c, &f.as)
	c.Flags().StringVar(&f.to, "to", "", "file to write; - is stdout")
	c.Flags().BoolVarP(&f.named, "as-named", "O", false, "write it here under the name that its author gave it")
	return a.does(c, func(ctx context.Context, args []string) error {
		if f.named == (f.to != "") {
			return usagef("where to? give --to FILE or -O")
		}
		return a.getAttachment(ctx, f, args[0], args[1])
	})
}

func (a *app) getAttachment(ctx context.Context, f getFlags, id, hash string) error {
	client, err := a.dial(ctx, f.as)
	if err != nil {
		return err
	}
	defer client.Close()
	save := (*wholeFile).commit
	if f.named {
		if f.to, err = a.authorsName(ctx, client, id, hash); err != nil {
			return noAttachment(err)
		}
		save = (*wholeFile).commitNew
	}
	file, err := fetched(ctx, client, id, hash, f.to)
	if err != nil {
		return noAttachment(err)
	}
	defer file.discard()
	if f.to == "-" {
		_, err = io.Copy(a.out, file.file)
		return err
	}
	if err := save(file); err != nil {
		return err
	}
	if f.named {
		a.err.linef("%d bytes to %s", file.bytes, f.to)
	}
	return nil
}

// noAttachment says where the files of a conversation are named.
func noAttachment(err error) error {
	if errors.Is(err, parley.ErrNotFound) {
		return withHint(err, "'parley tail ID' names the files that were added")
	}
	return err
}

// fetched is a whole file that has come, under another name than the one it is to have. It is read from its beginning.
func fetched(ctx context.Context, client parley.Client, id, hash, name string) (*wholeFile, error) {
	dir := os.TempDir()
	if name != "-" {
		if err := mayReplace(name); err != nil {
			return nil, err
		}
		dir = filepath.Dir(name)
	}
	file, err := createWhole(filepath.Join(dir, "parley")) // the name itself may be too long for more
	if err != nil {
		return nil, err
	}
	file.name = name
	_, err = io.Copy(file, parley.ReadAttachment(ctx, client, id, hash))
	if err == nil {
		_, err = file.file.Seek(0, io.SeekStart)
	}
	if err != nil {
		file.discard()
		return nil, err
	}
	return file, nil
}

// commitNew is commit for a name that nothing has yet.
func (f *wholeFile) commitNew() error {
	err := f.file.Sync()
	if e := f.file.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Link(f.file.Name(), f.name) // fails where something has the name
	}
	if errors.Is(err, os.ErrExist) {
		return withHint(fmt.Errorf("%s is there already", f.name), "use --to FILE to replace it")
	}
	if err != nil {
		return err
	}
	return syncDir(filepath.Dir(f.name))
}

// authorsName finds what the author of an attachment called it.
func (a *app) authorsName(ctx context.Context, client parley.Client, id, hash string) (string, error) {
	for e, err := range a.pages(ctx, client, id, 0) {
		if err != nil {
			return "", err
		}
		if e.Type != parley.TypeSystem {
			continue
		}
		if sys, err := e.System(); err == nil && sys.Kind == parley.KindAttachmentAdded && sys.SHA256 == hash {
			return safeName(sys.Name)
		}
	}
	return "", parley.Refuse(parley.ErrNotFound, "there is no such attachment in this conversation", "")
}

// safeName refuses a name that would be more than a plain file in the current directory: the hub lets no path pass, but this program does not
// rest on that.
func safeName(name string) (string, error) {
	odd := func(r rune) bool {
		return !unicode.IsPrint(r) || r == unicode.ReplacementChar || strings.ContainsRune(`/\:*?"<>|`, r)
	}
	if name == "" {
		return "", withHint(errors.New("its author gave it no name"), "use --to FILE")
	}
	if strings.ContainsFunc(name, odd) || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "-") || !filepath.IsLocal(name) {
		return "", withHint(fmt.Errorf("the name that its author gave it, %q, is not one to write to", name), "use --to FILE")
	}
	return name, nil
}
