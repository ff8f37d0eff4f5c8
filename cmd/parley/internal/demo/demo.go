// Package demo has the command demo, which plays cases of examples/priorauth through a hub.
//
//	root.AddCommand(demo.NewCommand(app))
package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/exit"
	"github.com/parleyhub/parley/examples/priorauth"
)

// demoTimeout bounds the whole demo; it takes a fraction of this.
const demoTimeout = 2 * time.Minute

// demoCases are played when none is named.
var demoCases = []string{"lumbar-mri", "adalimumab-ra"}

type demoFlags struct {
	cases []string
	fast  bool
}

// NewCommand returns the command demo.
func NewCommand(a *cli.App) *cobra.Command {
	var f demoFlags
	c := &cobra.Command{
		Use:   "demo",
		Short: "show two agents that settle a case through a hub",
		Long: `demo starts a hub on a real log and a real port. A health plan's agent runs inside it. A clinic's
agent runs in a separate process and joins over WebSocket, with a token for these conversations
only. They settle prior authorizations from case files, by rules. To check evidence with its
criteria the plan's agent starts a deterministic one: a command with a schema for its parameters,
run once for each session. Then the log is verified and exported, and the export verified by itself.

Cases: ` + strings.Join(priorauth.Embedded().IDs(), ", "),
		Args: cobra.NoArgs,
	}
	c.AddCommand(demoCriteriaCommand(a))
	c.Flags().StringSliceVar(&f.cases, "case", demoCases, "cases to play, in order")
	c.Flags().BoolVar(&f.fast, "fast", false, "show messages without pauses")
	return a.SetRun(c, func(ctx context.Context, _ []string) error { return run(ctx, a, f) })
}

func run(ctx context.Context, a *cli.App, f demoFlags) error {
	cases, err := chooseCases(f.cases)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "parley-demo-")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, demoTimeout, exit.ErrTimeout)
	defer cancel()
	s, err := startStage(ctx, a, dir, cases)
	if err != nil {
		return err
	}
	show := &show{app: a, fast: f.fast}
	show.printOpening(s)
	err = show.play(ctx, s, cases)
	if err := errors.Join(err, s.close()); err != nil {
		return err
	}
	return show.verifyAndExport(ctx, s, len(cases))
}

func chooseCases(ids []string) ([]*priorauth.Case, error) {
	files := priorauth.Embedded()
	var cases []*priorauth.Case
	for _, id := range ids {
		c, ok := files.Cases[id]
		if !ok {
			return nil, exit.Usagef("--case %s: expected %s", id, strings.Join(files.IDs(), ", "))
		}
		cases = append(cases, c)
	}
	if len(cases) == 0 {
		return nil, exit.Usagef("--case: no case")
	}
	return cases, nil
}

// demoPrefix begins the ids of the conversations about cases.
const demoPrefix = "demo-"

// demoConversation is the id of the conversation about a case.
func demoConversation(c *priorauth.Case) string { return demoPrefix + c.ID }

// demoParams describes the conversation about a case.
func demoParams(c *priorauth.Case) *parley.CreateConversationParams {
	p := c.Conversation("clinic", "payer")
	p.ConversationID = demoConversation(c)
	return p
}

// play runs the cases one after another.
func (d *show) play(ctx context.Context, s *stage, cases []*priorauth.Case) error {
	for _, c := range cases {
		if _, err := s.admin.CreateConversation(cli.InSpan(ctx), demoParams(c)); err != nil {
			return fmt.Errorf("create %s: %w", demoConversation(c), err)
		}
		if err := d.follow(ctx, s, demoConversation(c)); err != nil {
			return fmt.Errorf("follow %s: %w", demoConversation(c), err)
		}
	}
	return nil
}
