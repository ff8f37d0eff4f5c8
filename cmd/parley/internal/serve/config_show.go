package serve

import (
	"cmp"
	"context"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/config"
)

func configShowCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "show",
		Short: "print every setting with the source of its value",
		Long: `show prints the value of every setting as serve would have it, given the same flags,
environment and file, and where it is from: a flag, a variable, a line of the file, or the default.
It does not check the settings: 'parley config check' does.`,
		Args: cobra.NoArgs,
	}
	f := settingFlags(c)
	return a.SetRun(c, func(context.Context, []string) error { return printConfig(a, f) })
}

// shownSetting is a line of config show with -o json.
type shownSetting struct {
	Setting string `json:"setting"`
	Value   any    `json:"value"`
	From    string `json:"from"`
}

func printConfig(a *cli.App, f *hubFlags) error {
	c, err := f.load()
	if err != nil {
		return explainConfig(a, err)
	}
	if f.dev && !c.Given("data") {
		c.Data = ""
	}
	c.Console = c.ServesConsole(f.dev)
	table := tabwriter.NewWriter(a.Out, 0, 0, 2, ' ', 0)
	for _, s := range config.Settings {
		from := c.Origin(s.Name).String()
		if a.Format == cli.FormatJSON {
			if err := a.Out.JSON(shownSetting{s.Name, s.Value(&c.Config), from}); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", s.Name, cli.Clean(cmp.Or(s.Text(&c.Config), "-")), cli.Clean(from))
	}
	return table.Flush()
}
