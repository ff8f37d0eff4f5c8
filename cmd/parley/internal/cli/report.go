package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/cmd/parley/internal/exit"
)

// newHelpCommand is cobra's, but a topic that does not exist is an error.
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "show the help of a command",
		RunE: func(c *cobra.Command, args []string) error {
			about, rest, err := c.Root().Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 {
				return exit.Usagef("unknown command %q", Clean(strings.Join(args, " ")))
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
		ValidArgsFunction: func(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			about, _, err := c.Root().Find(args)
			if err != nil {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var offers []string
			for _, sub := range about.Commands() {
				if !sub.Hidden {
					offers = append(offers, cobra.CompletionWithDesc(sub.Name(), sub.Short))
				}
			}
			return offers, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

// Report prints err in one line on stderr, and returns the exit code.
func (a *App) Report(ctx context.Context, err error) int {
	if err == nil {
		return exit.CodeOK
	}
	f := exit.FailureOf(ctx, err)
	if a.Format == FormatJSON {
		line, _ := json.Marshal(f) // strings and numbers only
		a.Err.Line(string(line))
		return f.Exit
	}
	line := "parley: " + a.Err.Paint(StyleError, f.Reason) + ": " + Clean(f.What)
	if f.Hint != "" {
		line += "; " + Clean(f.Hint)
	}
	a.Err.Line(line)
	return f.Exit
}

// NewExitCodesTopic returns the help topic about exit codes.
func NewExitCodesTopic() *cobra.Command {
	var b strings.Builder
	b.WriteString("Exit codes of every command:\n\n")
	for _, e := range exit.Codes {
		fmt.Fprintf(&b, "  %d  %s\n", e.Code, e.Meaning)
	}
	b.WriteString("\nWith -o json the error on stderr is an object with what, reason, code, hint and, where parameters " +
		"are wrong, validation_errors.")
	return &cobra.Command{Use: "exit-codes", Short: "the exit codes of all commands", Long: b.String()}
}
