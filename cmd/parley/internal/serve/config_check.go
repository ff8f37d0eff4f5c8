package serve

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/config"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
)

func configCheckCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "check [FILE]",
		Short: "check a configuration for faults",
		Long: `check reads the settings as serve would, with those of the environment and of its flags, and starts
nothing. It prints every setting that is unknown, has an invalid value or conflicts with another,
certificates that cannot be used, and settings that are allowed but perhaps not intended. It changes
no file and needs no hub.

The exit code is that of serve: 2 for an invalid configuration, else 0. A warning changes nothing.`,
		Args: cobra.MaximumNArgs(1),
	}
	f := settingFlags(c)
	return a.SetRun(c, func(_ context.Context, args []string) error {
		if len(args) > 0 && f.file != "" {
			return exit.Usagef("name the file once: as an argument or with --config")
		}
		if len(args) > 0 && args[0] == "" {
			return exit.Usagef("FILE is empty: set a name or leave it out")
		}
		if len(args) > 0 {
			f.file = args[0]
		}
		return checkAndPrint(a, f)
	})
}

// finding is a line of config check with -o json.
type finding struct {
	Severity string `json:"severity"` // fault or warning
	Setting  string `json:"setting,omitempty"`
	From     string `json:"from"` // flag, env, file or default
	Name     string `json:"name,omitempty"`
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	What     string `json:"what"`
}

func checkAndPrint(a *cli.App, f *hubFlags) error {
	_, warnings, err := checkSettings(f)
	var faults config.Faults
	if err != nil && !errors.As(err, &faults) {
		return explainConfig(a, err)
	}
	if err := printFindings(a, "fault", faults); err != nil {
		return err
	}
	if err := printFindings(a, "warning", warnings); err != nil {
		return err
	}
	if len(faults) > 0 {
		return exit.WithHint(exit.Usagef("%s in the configuration", cli.Count(int64(len(faults)), "fault")),
			"'parley help serve' lists the settings")
	}
	if a.Format != cli.FormatJSON {
		a.Out.Line("ok: a hub can run with this configuration")
	}
	return nil
}

// printFindings prints what was found.
func printFindings(a *cli.App, severity string, faults config.Faults) error {
	for _, f := range faults {
		if a.Format == cli.FormatJSON {
			line := finding{severity, f.Setting, string(f.Where), f.Name, f.Line, f.Column, f.What}
			if err := a.Out.JSON(line); err != nil {
				return err
			}
			continue
		}
		a.Out.Line(cli.Clean(severity + ": " + f.String()))
	}
	return nil
}
