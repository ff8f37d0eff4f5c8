package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/journals"
	"github.com/parleyhub/parley/cmd/parley/internal/serve"
	"github.com/parleyhub/parley/examples/priorauth"
	"github.com/parleyhub/parley/executors"
	"github.com/parleyhub/parley/sdk"
)

// stage is everything that the demo runs: a hub with the payer and its checker inside, and the
// clinic in a separate process.
type stage struct {
	dir, data string
	server    *serve.Server
	admin     parley.Client

	checker *checker
	payer   parley.Client
	stop    context.CancelFunc // of the payer
	serving sync.WaitGroup
	clinic  *exec.Cmd
	left    chan error // how the clinic's process ended
}

func startStage(ctx context.Context, a *cli.App, dir string, cases []*priorauth.Case) (*stage, error) {
	s := &stage{dir: dir, data: filepath.Join(dir, "data"), left: make(chan error, 1)}
	j, err := journals.Open(s.data)
	if err != nil {
		return nil, err
	}
	log := serve.NewLogger(a).Level(zerolog.WarnLevel)
	_, told, err := (&cli.TelemetryFlags{}).Open(ctx, "parley-demo", slog.New(zerolog.NewSlogHandler(log)))
	if err != nil {
		return nil, errors.Join(err, j.Close())
	}
	if s.server,
		err = serve.Start(serve.Options{Journal: j, Address: "127.0.0.1:0", Log: log, Telemetry: told}); err != nil {
		return nil, errors.Join(err, j.Close(), told.Shutdown(ctx))
	}
	h := s.server.Hub
	s.admin = h.Client(h.LocalPrincipal("admin", parley.ScopeAdmin))
	if err := s.startChecker(ctx, log); err != nil {
		return nil, errors.Join(err, s.close())
	}
	if err := s.startPayer(log); err != nil {
		return nil, errors.Join(err, s.close())
	}
	if err := s.startClinic(ctx, a, cases); err != nil {
		s.clinic = nil
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// startPayer runs the payer's agent inside the hub.
func (s *stage) startPayer(log zerolog.Logger) error {
	h := s.server.Hub
	s.payer = h.Client(h.LocalPrincipal("payer"))
	ctx, cancel := context.WithCancel(s.server.Telemetry.Trace(context.Background()))
	s.stop = cancel
	remove, err := h.RegisterAgent(parley.AgentInfo{
		Name: "payer", Type: parley.AgentTypeAgent,
		Description: "Decides prior authorizations by the criteria of a health plan.",
	})
	if err != nil {
		return fmt.Errorf("register the payer: %w", err)
	}
	payer := executors.Internal(s.payer, &priorauth.Payer{Checker: priorauth.CriteriaAgent},
		&executors.Options{Logger: slog.New(zerolog.NewSlogHandler(log))})
	s.serving.Go(func() {
		defer remove()
		if err := payer.Run(ctx); err != nil {
			log.Error().Err(err).Msg("the payer ended")
		}
	})
	return nil
}

// startClinic runs this program again as the clinic, with a token that is good for these
// conversations only.
func (s *stage) startClinic(ctx context.Context, a *cli.App, cases []*priorauth.Case) error {
	p := &parley.CreateTokenParams{
		AgentID: "clinic", Scopes: []parley.Scope{parley.ScopeRead, parley.ScopeWrite, parley.ScopeClaim},
		ExpiresInMs: demoTimeout.Milliseconds(),
	}
	for _, c := range cases {
		p.Conversations = append(p.Conversations, demoConversation(c))
	}
	token, err := s.admin.CreateToken(ctx, p)
	if err != nil {
		return fmt.Errorf("make the clinic's token: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	s.clinic = exec.Command(self, "demo-clinic")
	s.clinic.Env = append(os.Environ(), cli.EnvURL+"="+s.server.URL, cli.EnvToken+"="+token.Token, cli.EnvAgent+"=")
	s.clinic.Stderr = a.Err
	if err := s.clinic.Start(); err != nil {
		return err
	}
	go func() { s.left <- s.clinic.Wait() }()
	return nil
}

// close stops the clinic, the payer, its checker and the hub, in this order. It skips parts that
// were not started.
func (s *stage) close() error {
	var clinicErr error
	if s.clinic != nil {
		s.clinic.Process.Signal(syscall.SIGTERM) // fails if it ended, which the next line reports
		clinicErr = <-s.left
	}
	err := errors.Join(s.stopPayer(), s.checker.close(), s.admin.Close(), s.server.Close())
	if clinicErr != nil {
		err = errors.Join(err, fmt.Errorf("the clinic's process: %w", clinicErr))
	}
	return err
}

// stopPayer lets the payer finish its turns and takes it away.
func (s *stage) stopPayer() error {
	if s.payer == nil {
		return nil
	}
	s.stop()
	s.serving.Wait()
	err := s.payer.Close()
	s.payer = nil
	return err
}

// NewClinicCommand is the clinic's process, run by demo: what a partner's program would be.
func NewClinicCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{Use: "demo-clinic", Hidden: true, Args: cobra.NoArgs}
	return a.SetRun(c, func(ctx context.Context, _ []string) error {
		client, err := sdk.DialEnv(ctx)
		if err != nil {
			return err
		}
		defer client.Close()
		log := slog.New(zerolog.NewSlogHandler(serve.NewLogger(a).Level(zerolog.WarnLevel)))
		ctx, told, err := (&cli.TelemetryFlags{}).Open(ctx, "parley-demo-clinic", log)
		if err != nil {
			return err
		}
		defer told.Shutdown(context.WithoutCancel(ctx)) // spans that cannot be sent are in the log
		return executors.External(client, &priorauth.Clinic{}, &executors.Options{Logger: log}).Run(ctx)
	})
}
