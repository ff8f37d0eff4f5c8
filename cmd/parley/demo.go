package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
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

func (a *app) demoCommand() *cobra.Command {
	var f demoFlags
	c := &cobra.Command{
		Use:   "demo",
		Short: "watch two agents settle a case through a hub",
		Long: `demo starts a hub on a real log and a real port. A health plan's agent runs inside it; a clinic's agent runs in a process of its own and
joins over WebSocket with a token for these conversations only. They settle prior authorizations from case files, by rules. To hold evidence against its
criteria the plan's agent starts a deterministic one: a command with a schema for its parameters, run once for each session. Then the log is verified and
exported, and the export verified by itself.

Cases: ` + strings.Join(priorauth.Embedded().IDs(), ", "),
		Args: cobra.NoArgs,
	}
	c.AddCommand(a.demoCriteriaCommand())
	c.Flags().StringSliceVar(&f.cases, "case", demoCases, "the cases to play, in order")
	c.Flags().BoolVar(&f.fast, "fast", false, "show everything as soon as it is said")
	return a.does(c, func(ctx context.Context, _ []string) error { return a.demo(ctx, f) })
}

func (a *app) demo(ctx context.Context, f demoFlags) error {
	cases, err := chooseCases(f.cases)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "parley-demo-")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, demoTimeout, errTimeout)
	defer cancel()
	s, err := a.startStage(ctx, dir, cases)
	if err != nil {
		return err
	}
	show := &demoShow{app: a, fast: f.fast}
	show.opening(s)
	err = show.play(ctx, s, cases)
	if err := errors.Join(err, s.close()); err != nil {
		return err
	}
	return show.ending(ctx, s, len(cases))
}

func chooseCases(ids []string) ([]*priorauth.Case, error) {
	files := priorauth.Embedded()
	var cases []*priorauth.Case
	for _, id := range ids {
		c, ok := files.Cases[id]
		if !ok {
			return nil, usagef("--case %s: expected %s", id, strings.Join(files.IDs(), ", "))
		}
		cases = append(cases, c)
	}
	if len(cases) == 0 {
		return nil, usagef("--case: no case")
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
func (d *demoShow) play(ctx context.Context, s *stage, cases []*priorauth.Case) error {
	for _, c := range cases {
		if _, err := s.admin.CreateConversation(inTrace(ctx), demoParams(c)); err != nil {
			return fmt.Errorf("create %s: %w", demoConversation(c), err)
		}
		if err := d.follow(ctx, s, demoConversation(c)); err != nil {
			return fmt.Errorf("follow %s: %w", demoConversation(c), err)
		}
	}
	return nil
}
