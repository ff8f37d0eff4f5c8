package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// report tells of err on stderr, in one line, and gives the exit code.
func (a *app) report(ctx context.Context, err error) int {
	if err == nil {
		return exitOK
	}
	f := failureOf(ctx, err)
	if a.format == formatJSON {
		line, _ := json.Marshal(f) // strings and numbers only
		a.err.line(string(line))
		return f.exit
	}
	line := "parley: " + a.err.paint(styleError, f.Reason) + ": " + clean(f.What)
	if f.Hint != "" {
		line += "; " + clean(f.Hint)
	}
	a.err.line(line)
	return f.exit
}

func exitCodesTopic() *cobra.Command {
	var b strings.Builder
	b.WriteString("Exit codes of every command:\n\n")
	for _, e := range exitCodes {
		fmt.Fprintf(&b, "  %d  %s\n", e.code, e.meaning)
	}
	b.WriteString("\nWith -o json the error on stderr is an object with what, reason, code, hint and, where parameters are wrong, validation_errors.")
	return &cobra.Command{Use: "exit-codes", Short: "what the exit codes mean", Long: b.String()}
}
