package commands

import (
	"cmp"
	"context"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
)

func versionCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use: "version", Short: "print the version of the program and of the protocol",
		Long: `version prints the semantic version of the program, its commit and the date of the commit, and the
versions of the protocol and of Go.

A build of a commit that has no release tag is a development version, such as 0.1.0-dev+8526c70. It ends
with .dirty if files were changed. A build outside of a repository has no commit and no date.`,
		Args: cobra.NoArgs,
	}
	return a.SetRun(c, func(context.Context, []string) error {
		b := cli.ThisBuild()
		if a.Format == cli.FormatJSON {
			return a.Out.JSON(versionOutput{
				Version: b.Version, Commit: b.Commit, Date: dateOf(b.Date),
				ProtocolVersion: parley.ProtocolVersion, Go: runtime.Version(),
			})
		}
		what := "protocol " + parley.ProtocolVersion + ", " + runtime.Version()
		if b.Commit != "" {
			what += ", commit " + b.Commit + ", " + cmp.Or(dateOf(b.Date), "without a date")
		}
		a.Out.Linef("parley %s (%s)", b.Version, what)
		return nil
	})
}

// versionOutput is what 'parley version -o json' prints.
type versionOutput struct {
	Version         string `json:"version"`
	Commit          string `json:"commit,omitempty"`
	Date            string `json:"date,omitempty"`
	ProtocolVersion string `json:"protocolVersion"`
	Go              string `json:"go"`
}

// dateOf returns a date as the protocol writes it, or "" for the zero time.
func dateOf(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return parley.TimestampOf(t).String()
}
