package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/agents"
	"github.com/parleyhub/parley/cmd/parley/internal/config"
	"github.com/parleyhub/parley/cmd/parley/internal/models"
	"github.com/parleyhub/parley/cmd/parley/internal/runner"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/executors/blueprint"
)

const (
	// localRunner is the participant and the runner that a hub's own blueprints belong to.
	localRunner = "local-runner"
	// localDrain is how long running commands may continue when the hub stops. The hub has the rest
	// of DrainTimeout.
	localDrain = 3 * time.Second
)

// checkServed returns the faults of blueprints. They are faults if no blueprint can be run, and
// otherwise warnings.
func checkServed(c *config.Loaded) (faults, warnings config.Faults) {
	if c.Blueprints == "" {
		return nil, nil
	}
	all, wrong, err := runner.LoadBlueprints(c.Blueprints, modelsOf(c), nil)
	if err != nil {
		setting := "models"
		if at, ok := errors.AsType[*models.SettingError](err); ok {
			setting = at.Setting
		}
		for _, line := range models.Faults(err) {
			faults = append(faults, c.Fault(setting, line))
		}
		return faults, nil
	}
	defer all.Close() // nothing was used
	for _, f := range slices.Concat(wrong, all.Absent, all.Warnings) {
		warnings = append(warnings, c.Fault("blueprints", f.String()))
	}
	switch {
	case len(all.Files) > 0:
		return nil, warnings
	case len(warnings) > 0:
		return warnings, nil
	}
	return config.Faults{c.Fault("blueprints",
		"there is no blueprint in the directory: expected .json, .yaml or .yml files")}, nil
}

// modelsOf are the settings of models.
func modelsOf(c *config.Loaded) *runner.ModelFlags {
	return &runner.ModelFlags{File: c.Models, Replay: c.Replay, Mode: c.ReplayMode}
}

// localAgents is the runner of a hub's own blueprints, in its process.
type localAgents struct {
	client parley.Client
	agents *runner.Blueprints
	stop   context.CancelFunc
	ended  sync.WaitGroup
}

// startLocalAgents runs the blueprints of the settings, if there are some; LLM agents and those
// with subscriptions take the seats of their names too. The hub has to take calls already.
func startLocalAgents(s *Server, c *config.Loaded, log zerolog.Logger) (*localAgents, error) {
	if c.Blueprints == "" {
		return nil, nil
	}
	logger := slog.New(zerolog.NewSlogHandler(log))
	all, _, err := runner.LoadBlueprints(c.Blueprints, modelsOf(c), &agents.Options{ // faults were reported before
		RunnerID: localRunner, Commands: &blueprint.Options{URL: commandsURL(s.URL, c)}, Meter: runner.Meter, Logger: logger,
	})
	if err != nil {
		return nil, runner.ModelsError(err)
	}
	if len(all.Files) == 0 {
		return nil, errors.Join(runner.NoBlueprintError(nil), all.Close())
	}
	if err := runner.HideEnvironment(); err != nil {
		return nil, errors.Join(fmt.Errorf("hide the environment of the hub from the commands: %w", err), all.Close())
	}
	ctx, cancel := context.WithCancel(s.Telemetry.Trace(context.Background()))
	l := &localAgents{client: s.Hub.Client(s.Hub.LocalPrincipal(localRunner).SpeakingAs(all.Seats()...).WithWorkspaces(
		c.Workspaces...)), agents: all, stop: cancel}
	o := &executors.Options{
		Agents: all.Seats(), Blueprints: all.Blueprints(), ExecutorID: localRunner, Grace: runner.Grace, Drain: localDrain,
		Logger: logger,
		Registered: (&runner.NameReporter{Report: func(text string) {
			log.Info().Str("agent",
				text).Msg("a blueprint is served")
		}}).Registered,
	}
	agent := &runner.SessionReporter{Agent: all, Report: func(t *runner.SessionReport) { log.Debug().Msg(t.Text()) }}
	runner := executors.Internal(stayingClient{l.client}, runner.SplitTurns(agent, all), o)
	l.ended.Go(func() {
		// otherwise the hub has failed, and reports why
		if err := runner.Run(ctx); err != nil && !errors.Is(err, parley.ErrUnavailable) {
			log.Error().Err(err).Msg("the blueprints are no longer served: start the hub again")
		}
	})
	return l, nil
}

// close lets commands under way end, for a while, and kills what is left. Nil has nothing to end.
func (l *localAgents) close() {
	if l == nil {
		return
	}
	l.stop()
	l.ended.Wait()
	_ = l.client.Close() // which never fails
	_ = l.agents.Close() // what they have open ends with the process
}

// stayingClient does not report to the hub that its runner leaves: the runner is back after a
// restart, and sessions wait for it.
type stayingClient struct{ parley.Client }

// RegisterBlueprints registers some, and passes over none.
func (c stayingClient) RegisterBlueprints(ctx context.Context,
	p *parley.RegisterBlueprintsParams) (*parley.RegisterBlueprintsResult, error) {
	if len(p.Blueprints) == 0 {
		return &parley.RegisterBlueprintsResult{Agents: []parley.RegisteredBlueprint{}}, nil
	}
	return c.Client.RegisterBlueprints(ctx, p)
}

// commandsURL is where commands find the hub: on this machine, and with TLS by a name that its
// certificate may have.
func commandsURL(address string, c *config.Loaded) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	host, port := u.Hostname(), u.Port()
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	if c.TLS.Cert != "" && len(c.AllowHosts) > 0 {
		name := c.AllowHosts[0]
		if h, _, err := net.SplitHostPort(name); err == nil {
			name = h
		}
		host = name
	}
	u.Host = net.JoinHostPort(host, port)
	return u.String()
}
