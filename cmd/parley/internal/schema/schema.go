// Package schema has the command schema, which prints the documents of the protocol for programs.
//
//	root.AddCommand(schema.NewCommand(app))
package schema

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/cmd/parley/internal/cards"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/config"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/cmd/parley/internal/models"
	"github.com/parleyhub/parley/cmd/parley/internal/scenario"
	"github.com/parleyhub/parley/cmd/parley/internal/sources"
	"github.com/parleyhub/parley/executors/blueprint"
	"github.com/parleyhub/parley/executors/llm/scripted"
	"github.com/parleyhub/parley/internal/schema"
)

// documents are those of 'parley schema' besides the schemas of the wire.
var documents = []struct {
	name string
	text func() []byte
}{
	{"openrpc", func() []byte { return schema.OpenRPC }},
	{"asyncapi", func() []byte { return schema.AsyncAPI }},
	{"config", config.Schema},
	{"scenario", scenario.Schema},
	{"blueprint", blueprint.Schema},
	{"models", models.Schema},
	{"script", scripted.Schema},
	{"cards", cards.Schema},
	{"sources", sources.Schema},
}

func documentNames() []string {
	var names []string
	for _, d := range documents {
		names = append(names, d.name)
	}
	return append(names, schema.Names()...)
}

func findDocument(name string) ([]byte, bool) {
	for _, d := range documents {
		if d.name == name {
			return d.text(), true
		}
	}
	return schema.Lookup(name)
}

// NewCommand returns the command schema.
func NewCommand(a *cli.App) *cobra.Command {
	var all string
	c := &cobra.Command{
		Use:   "schema [NAME]",
		Short: "print machine-readable schemas of the protocol and of files",
		Long: `schema prints a machine-readable document. openrpc describes all methods, and asyncapi the
WebSocket. config, scenario, blueprint, models, script, cards and sources are the JSON Schemas of
the files of Parley. All other names are JSON Schemas of values of the protocol: event, message,
snapshot, createConversation.params, createConversation.result... Without NAME it lists all names.
A hub serves the first two at /openrpc.json and /asyncapi.json. No hub is needed.`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return documentNames(), cobra.ShellCompDirectiveNoFileComp
		},
	}
	c.Flags().StringVar(&all, "all", "",
		"directory to write each document to as NAME.json; replaces existing files")
	return a.SetRun(c, func(_ context.Context, args []string) error {
		switch {
		case c.Flags().Changed("all") && (all == "" || len(args) > 0):
			return exit.Usagef("--all takes a directory, and no NAME")
		case all != "":
			return writeSchemas(a, all)
		case len(args) == 1:
			return printSchema(a, args[0])
		}
		return listSchemas(a)
	})
}

func listSchemas(a *cli.App) error {
	if a.Format == cli.FormatJSON {
		return a.Out.JSON(documentNames())
	}
	for _, name := range documentNames() {
		a.Out.Line(name)
	}
	return nil
}

func printSchema(a *cli.App, name string) error {
	text, ok := findDocument(name)
	if !ok {
		return exit.Usagef("there is no schema %q%s; 'parley schema' lists them", cli.Clean(name), suggestName(name))
	}
	if a.Format == cli.FormatJSON {
		var line bytes.Buffer
		if err := json.Compact(&line, text); err != nil {
			return err
		}
		text = append(line.Bytes(), '\n')
	}
	_, err := a.Out.Write(text)
	return err
}

// suggestName proposes the name that differs in its case only.
func suggestName(name string) string {
	for _, known := range documentNames() {
		if strings.EqualFold(known, name) {
			return fmt.Sprintf(" (did you mean %s?)", known)
		}
	}
	return ""
}

func writeSchemas(a *cli.App, directory string) error {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	names := documentNames()
	for _, name := range names {
		text, _ := findDocument(name)
		if err := os.WriteFile(filepath.Join(directory, name+".json"), text, 0o644); err != nil {
			return err
		}
	}
	a.Err.Linef("%s in %s", cli.Count(int64(len(names)), "document"), cli.Clean(directory))
	return nil
}
