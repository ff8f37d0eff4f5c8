package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/examples/priorauth"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/executors/blueprint"
)

// demoRunner is the runner of the payer's deterministic agent, and the participant that it works
// for.
const demoRunner = "demo-runner"

// demoCriteriaCommand is the command of that agent, run for each session: what could be a program
// in any language.
func demoCriteriaCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{Use: "criteria", Hidden: true, Args: cobra.NoArgs}
	return a.SetRun(c, func(context.Context, []string) error {
		return priorauth.RunCriteria(priorauth.Embedded().Policy, a.In, a.Out, a.Err)
	})
}

// checker runs the agent inside the hub, as serve --blueprints does.
type checker struct {
	client parley.Client
	stop   context.CancelFunc
	ended  chan error // of the executor; one value
}

// startChecker writes the blueprint, and runs it. It returns when the agent is there.
func (s *stage) startChecker(ctx context.Context, log zerolog.Logger) error {
	set, err := s.checkerBlueprint()
	if err != nil {
		return fmt.Errorf("the blueprint of %s: %w", priorauth.CriteriaAgent, err)
	}
	h := s.server.Hub
	running, cancel := context.WithCancel(s.server.Telemetry.Trace(context.Background()))
	c := &checker{client: h.Client(h.LocalPrincipal(demoRunner)), stop: cancel, ended: make(chan error, 1)}
	s.checker = c
	there := make(chan struct{}, 1)
	runner := executors.Internal(c.client, blueprint.New(set, nil), &executors.Options{
		ExecutorID: demoRunner, Blueprints: set.Blueprints(), Logger: slog.New(zerolog.NewSlogHandler(log)),
		Registered: func(*parley.RegisterBlueprintsResult) {
			select {
			case there <- struct{}{}:
			default: // once is enough
			}
		},
	})
	go func() { c.ended <- runner.Run(running) }()
	select {
	case <-there:
		return nil
	case err := <-c.ended:
		c.ended <- err
		return fmt.Errorf("run %s: %w", priorauth.CriteriaAgent, errors.Join(errUnexpected, err))
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// checkerBlueprint puts the file where it can be looked at, and reads it as a runner does.
func (s *stage) checkerBlueprint() (*blueprint.Set, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := priorauth.CriteriaBlueprint(self, "demo", "criteria")
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(s.blueprints(), 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(s.blueprints(), priorauth.CriteriaAgent+".json"), text, 0o600); err != nil {
		return nil, err
	}
	set, faults := blueprint.Load(s.blueprints())
	if len(faults) > 0 {
		return nil, errors.New(faults[0].String())
	}
	return set, nil
}

func (s *stage) blueprints() string { return filepath.Join(s.dir, "blueprints") }

// close ends the executor, and what it runs. Nil has nothing to end.
func (c *checker) close() error {
	if c == nil {
		return nil
	}
	c.stop()
	err := <-c.ended
	return errors.Join(err, c.client.Close())
}
