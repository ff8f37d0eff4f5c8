package attachment

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
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/cmd/parley/internal/files"
)

type getFlags struct {
	as, to string
	named  bool
}

func newGetCommand(a *cli.App) *cobra.Command {
	var f getFlags
	c := &cobra.Command{
		Use:   "get ID SHA256",
		Short: "download a file of a conversation",
		Long: `get writes the file after it has received all of it and checked the SHA-256. --to names
the file and replaces an existing one, except in the directory of a log. -O uses the name that the
author chose, in the current directory, and never replaces a file.

The author chose the name and the contents of the file. Neither was checked.`,
		Args: cobra.ExactArgs(2),
	}
	cli.AddAsFlag(c, &f.as)
	c.Flags().StringVar(&f.to, "to", "", "file to write; - is stdout")
	c.Flags().BoolVarP(&f.named, "as-named", "O", false, "write it to the current directory under its original name")
	return a.SetRun(c, func(ctx context.Context, args []string) error {
		if f.named == (f.to != "") {
			return exit.Usagef("--to FILE or -O is missing")
		}
		return getAttachment(ctx, a, f, args[0], args[1])
	})
}

func getAttachment(ctx context.Context, a *cli.App, f getFlags, id, hash string) error {
	client, err := a.Dial(ctx, f.as)
	if err != nil {
		return err
	}
	defer client.Close()
	save := (*files.File).Commit
	if f.named {
		if f.to, err = findName(ctx, a, client, id, hash); err != nil {
			return explainNotFound(err)
		}
		save = (*files.File).CommitNew
	}
	file, err := fetchFile(ctx, client, id, hash, f.to)
	if err != nil {
		return explainNotFound(err)
	}
	defer file.Discard()
	if f.to == "-" {
		_, err = io.Copy(a.Out, file.Temp)
		return err
	}
	if err := save(file); err != nil {
		return err
	}
	if f.named {
		a.Err.Linef("%d bytes to %s", file.Bytes, f.to)
	}
	return nil
}

// explainNotFound says where the files of a conversation are named.
func explainNotFound(err error) error {
	if errors.Is(err, parley.ErrNotFound) {
		return exit.WithHint(err, "'parley tail ID' names the files that were added")
	}
	return err
}

// fetchFile fetches a whole file under a temporary name. The returned file is read from its
// beginning.
func fetchFile(ctx context.Context, client parley.Client, id, hash, name string) (*files.File, error) {
	dir := os.TempDir()
	if name != "-" {
		if err := files.CheckReplaceable(name); err != nil {
			return nil, err
		}
		dir = filepath.Dir(name)
	}
	file, err := files.Create(filepath.Join(dir, "parley")) // the name itself may be too long for more
	if err != nil {
		return nil, err
	}
	file.Name = name
	_, err = io.Copy(file, parley.ReadAttachment(ctx, client, id, hash))
	if err == nil {
		_, err = file.Temp.Seek(0, io.SeekStart)
	}
	if err != nil {
		file.Discard()
		return nil, err
	}
	return file, nil
}

// findName finds what the author of an attachment called it.
func findName(ctx context.Context, a *cli.App, client parley.Client, id, hash string) (string, error) {
	for e, err := range a.ReadEvents(ctx, client, id, 0) {
		if err != nil {
			return "", err
		}
		if e.Type != parley.TypeSystem {
			continue
		}
		if sys, err := e.System(); err == nil && sys.Kind == parley.KindAttachmentAdded && sys.SHA256 == hash {
			return checkName(sys.Name)
		}
	}
	return "", parley.Refuse(parley.ErrNotFound, "there is no such attachment in this conversation", "")
}

// checkName refuses a name that would be more than a plain file in the current directory: the hub
// lets no path pass, but this program does not rest on that.
func checkName(name string) (string, error) {
	odd := func(r rune) bool {
		return !unicode.IsPrint(r) || r == unicode.ReplacementChar || strings.ContainsRune(`/\:*?"<>|`, r)
	}
	if name == "" {
		return "", exit.WithHint(errors.New("its author gave it no name"), "use --to FILE")
	}
	if strings.ContainsFunc(name, odd) || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "-") ||
		!filepath.IsLocal(name) {
		return "", exit.WithHint(fmt.Errorf("the name that its author gave it, %q, is not one to write to", name),
			"use --to FILE")
	}
	return name, nil
}
