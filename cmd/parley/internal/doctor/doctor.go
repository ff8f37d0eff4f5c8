// Package doctor has the commands doctor and ready, which check the setup of a client and of a hub.
//
//	root.AddCommand(doctor.NewCommand(app))
package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/config"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/internal/spelling"
)

// result is what a check says.
type result string

const (
	resultOK      result = "ok"
	resultWarn    result = "warn"
	resultFail    result = "fail"
	resultSkipped result = "skipped"
)

// diagnosis is what one check found.
type diagnosis struct {
	Check string `json:"check"`
	// Hub is the one of several that was looked at.
	Hub    string `json:"hub,omitempty"`
	Result result `json:"result"`
	Found  string `json:"found"`
	// Advice is what to do about it.
	Advice string `json:"advice,omitempty"`
}

type doctorFlags struct{ config, data string }

// NewCommand returns the command doctor.
func NewCommand(a *cli.App) *cobra.Command {
	var f doctorFlags
	c := &cobra.Command{
		Use:   "doctor",
		Short: "check a setup for problems",
		Long: `doctor checks the environment, the hubs that PARLEY_URL names, and the configuration and the data of
a hub on this machine. It changes nothing, needs no hub, and prints no secret. Each check is a line:
ok, warn, fail or skipped, the finding, and the next step. The exit code is 1 if a check fails.`,
		Args: cobra.NoArgs,
	}
	c.Flags().StringVar(&f.config, "config", "", "configuration file of the hub (default: $"+config.EnvFile+")")
	c.Flags().StringVar(&f.data, "data", "", "directory of the log (default: that of the configuration)")
	return a.SetRun(c, func(ctx context.Context, _ []string) error { return diagnose(ctx, a, f) })
}

// diagnose runs all checks.
func diagnose(ctx context.Context, a *cli.App, f doctorFlags) error {
	d := &doctor{a: a}
	d.environment()
	visits := d.hubChecks()
	for _, h := range visits {
		if len(visits) > 1 {
			d.subject = h.Address()
		}
		h.run(ctx)
	}
	d.subject = ""
	d.machine(f)
	if err := ctx.Err(); err != nil {
		return err
	}
	if d.err != nil {
		return d.err
	}
	if d.failed > 0 {
		return fmt.Errorf("%d of %d checks failed", d.failed, d.checks)
	}
	return nil
}

// doctor prints findings and counts them.
type doctor struct {
	a              *cli.App
	subject        string // the hub that is looked at; empty where there is one only
	checks, failed int
	err            error // of stdout
}

func (d *doctor) ok(check, found string) { d.print(diagnosis{check, d.subject, resultOK, found, ""}) }

func (d *doctor) warn(check, found, advice string) {
	d.print(diagnosis{check, d.subject, resultWarn, found, advice})
}

func (d *doctor) fail(check, found, advice string) {
	d.print(diagnosis{check, d.subject, resultFail, found, advice})
}

func (d *doctor) skip(check, why string) {
	d.print(diagnosis{check, d.subject, resultSkipped, why, ""})
}

var resultStyles = map[result]cli.Style{resultOK: cli.StyleGood, resultWarn: cli.StyleBold, resultFail: cli.StyleError,
	resultSkipped: cli.StyleDim}

func (d *doctor) print(f diagnosis) {
	d.checks++
	if f.Result == resultFail {
		d.failed++
	}
	f.Found, f.Advice = withoutSecrets(f.Found), withoutSecrets(f.Advice)
	if d.a.Format == cli.FormatJSON {
		d.err = errors.Join(d.err, d.a.Out.JSON(f))
		return
	}
	text := cli.Clean(f.Found)
	if f.Hub != "" && f.Check != "url" {
		text = cli.Clean(f.Hub) + ": " + text
	}
	if f.Advice != "" {
		text += "; " + cli.Clean(f.Advice)
	}
	d.a.Out.Linef("%s %-12s %s", d.a.Out.Paint(resultStyles[f.Result], fmt.Sprintf("%-8s", f.Result)), f.Check, text)
}

// withoutSecrets takes the tokens of the environment out of a text: the errors of others may quote
// what they were given.
func withoutSecrets(text string) string {
	for _, name := range []string{cli.EnvToken, cli.EnvDevToken, cli.EnvA2AToken, cli.EnvEmbeddingsKey,
		cli.EnvNATSPassword} {
		if secret := strings.TrimSpace(os.Getenv(name)); secret != "" {
			text = strings.ReplaceAll(text, secret, "<"+name+">")
		}
	}
	return text
}

// environment looks for unknown variables.
func (d *doctor) environment() {
	known := []string{cli.EnvURL, cli.EnvToken, cli.EnvAgent, cli.EnvCA, cli.EnvCert, cli.EnvKey, cli.EnvDevToken,
		cli.EnvA2AToken, cli.EnvEmbeddingsKey, cli.EnvNATSPassword, "PARLEY_SESSION", "PARLEY_CONTEXT_FILE"}
	unknown := config.UnknownEnv(os.Environ(), known...)
	for _, name := range unknown {
		advice := "unset it, or see docs/reference/configuration.md"
		if near := spelling.Nearest(name, append(config.EnvNames(), known...)); near != "" {
			advice = "is it " + near + "?"
		}
		d.warn("environment", "nothing reads "+name, advice)
	}
	if len(unknown) == 0 {
		d.ok("environment", "every PARLEY_ variable has a reader")
	}
	if _, err := cli.ClientTLS(); err != nil {
		d.fail("environment", err.Error(), exit.HintOf(err))
	}
}
