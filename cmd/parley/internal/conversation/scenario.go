package conversation

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/cmd/parley/internal/scenario"
	"github.com/parleyhub/parley/internal/yamlfile"
)

// NewScenarioCommand returns the command scenario.
func NewScenarioCommand(a *cli.App) *cobra.Command {
	return cli.NewGroup(&cobra.Command{Use: "scenario", Short: "check scenarios, which are files that start " +
		"conversations"},
		newScenarioCheckCommand(a))
}

func newScenarioCheckCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "check FILE...",
		Short: "check scenarios for faults",
		Long: `check reads scenarios as 'parley conversation create --scenario' would, and creates nothing. It
prints everything that a hub would refuse, with line and column, including expressions of policies
and limits. FILE may be "-" for stdin. It needs no hub. 'parley schema scenario' prints the JSON
Schema.

The exit code is 2 if there is a fault, else 0. A warning changes nothing.`,
		Args: cobra.MinimumNArgs(1),
	}
	return a.SetRun(c, func(_ context.Context, args []string) error { return checkScenarios(a, args) })
}

// loadScenario reads a scenario from a file or, for "-", from stdin.
func loadScenario(a *cli.App, name string) (*scenario.Scenario, error) {
	switch name {
	case "":
		return nil, exit.Usagef("the name of the scenario is empty: name a file")
	case "-":
		text, err := yamlfile.ReadFrom(a.In)
		if err != nil {
			return nil, err
		}
		return scenario.Parse("stdin", text)
	}
	s, err := scenario.Load(name)
	var faults yamlfile.Findings
	if err != nil && !errors.As(err, &faults) {
		return nil, exit.Usage(err)
	}
	return s, err
}

// scenarioFinding is a line of scenario check with -o json.
type scenarioFinding struct {
	Severity string `json:"severity"` // fault or warning
	Field    string `json:"field,omitempty"`
	Name     string `json:"name"` // of the file
	Line     int    `json:"line"`
	Column   int    `json:"column"`
	What     string `json:"what"`
}

func checkScenarios(a *cli.App, names []string) error {
	found := 0
	for _, name := range names {
		n, err := checkScenario(a, name)
		if err != nil {
			return err
		}
		found += n
	}
	if found > 0 {
		what := "in the scenario"
		if len(names) > 1 {
			what = "in " + cli.Count(int64(len(names)), "scenario")
		}
		return exit.WithHint(exit.Usagef("%s %s", cli.Count(int64(found), "fault"), what),
			"'parley schema scenario' says what there is")
	}
	return nil
}

// checkScenario prints what is wrong with one file, and counts it.
func checkScenario(a *cli.App, name string) (int, error) {
	s, err := loadScenario(a, name)
	var faults yamlfile.Findings
	switch {
	case errors.As(err, &faults):
		return len(faults), printScenarioFindings(a, "fault", faults)
	case err != nil:
		return 0, err
	}
	if err := printScenarioFindings(a, "warning", s.Warnings()); err != nil {
		return 0, err
	}
	if a.Format != cli.FormatJSON {
		a.Out.Line("ok: " + cli.Clean(name))
	}
	return 0, nil
}

func printScenarioFindings(a *cli.App, severity string, faults yamlfile.Findings) error {
	for _, f := range faults {
		if a.Format != cli.FormatJSON {
			a.Out.Line(cli.Clean(severity + ": " + f.String()))
			continue
		}
		if err := a.Out.JSON(scenarioFinding{severity, f.Field, f.File, f.Line, f.Column, f.What}); err != nil {
			return err
		}
	}
	return nil
}

// ScenarioError returns the error of a command with an invalid scenario. It prints several faults
// on separate lines.
func ScenarioError(a *cli.App, err error) error {
	var faults yamlfile.Findings
	if !errors.As(err, &faults) {
		return err
	}
	if len(faults) > 1 && a.Format != cli.FormatJSON {
		for _, f := range faults {
			a.Err.Line(cli.Clean(f.String()))
		}
		err = errors.New(cli.Count(int64(len(faults)), "fault") + " in the scenario")
	}
	return exit.WithHint(exit.Usage(err),
		"'parley scenario check' looks at scenarios, 'parley schema scenario' says what there is")
}
