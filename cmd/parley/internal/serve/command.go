// Package serve has the commands serve and config, which run a hub with its adapters, and check its
// settings.
//
//	root.AddCommand(serve.NewCommand(app))
package serve

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/config"
	"github.com/parleyhub/parley/cmd/parley/internal/journals"
	"github.com/parleyhub/parley/hub"
	"github.com/parleyhub/parley/rpc"
	"github.com/parleyhub/parley/rpc/oidc"
)

// NewCommand returns the command serve.
func NewCommand(a *cli.App) *cobra.Command {
	c := &cobra.Command{
		Use:   "serve",
		Short: "run a hub",
		Long: `serve runs a hub until SIGTERM or SIGINT. Then it takes no new calls, notifies its clients, finishes
running calls within 10 s, and ends with code 0. A second signal ends it at once. SIGHUP, unless
stderr is a terminal, makes it read its certificates and open its audit log again.

The first line of stdout has its address; it is printed when the hub takes calls. A service manager
that asks for it (NOTIFY_SOCKET) is notified too. --ready-file gets that line as well, whole or not
at all; an old one is removed first.

Every setting can also be in the environment (PARLEY_LISTEN for --listen) or in a file (--config). A
flag wins, then the environment, then the file. See docs/reference/configuration.md, 'parley config show' and
'parley config check'.

With --blueprints it runs commands (docs/guides/blueprints.md), workflows and LLM agents (docs/guides/llm.md) too.
It refuses to start if none of the files can be used, and warns of those that cannot. LLM agents,
and agents with triggers, take the seats of their names. --workspaces names the workspaces that they
watch.

With --sources it posts a note for each request to /hooks/NAME and for each entry of the timetable.
'parley schema sources' describes the file.

With --dev it makes an admin token (or takes $` + cli.EnvDevToken + `), listens on loopback only
and, without --data, keeps everything in memory. Without --dev make the first token while no hub
runs: parley token create --admin --data DIR`,
		Args: cobra.NoArgs,
	}
	f := settingFlags(c)
	return a.SetRun(c, func(ctx context.Context, _ []string) error { return serve(ctx, a, f) })
}

func serve(ctx context.Context, a *cli.App, f *hubFlags) error {
	settings, warnings, err := checkSettings(f)
	if err != nil {
		return explainConfig(a, err)
	}
	log := hubLogger(a, settings)
	for _, w := range warnings {
		log.Warn().Msg(w.String())
	}
	verifier, err := verifierOf(ctx, settings)
	if err != nil {
		return err
	}
	embedder, err := embedderOf(settings)
	if err != nil {
		return err
	}
	told, err := hubTelemetry(ctx, settings, slog.New(zerolog.NewSlogHandler(log)))
	if err != nil {
		return err
	}
	defer told.Shutdown(ctx) // of a hub that has not started; one that has ends it
	gate := &hookGate{next: verifier}
	parts, err := openParts(settings, log)
	if err != nil {
		return err
	}
	defer parts.close()
	kept, j, err := journals.OpenForServe(ctx, settings, f.dev, slog.New(zerolog.NewSlogHandler(log)))
	if err != nil {
		return err
	}
	if err := removeReady(settings); err != nil { // now that this hub owns the log, no other running hub wrote it
		return errors.Join(err, j.Close())
	}
	warnOpenDirectory(log, kept)
	o := Options{
		Journal: j, Address: settings.Listening(), metricsAddr: settings.MetricsListening(),
		Log: log, door: doorOptions(settings, f.dev), verifier: gate.verifier(settings), Tls: parts.tlsConfig(),
		adapters: append(configuredAdapters(settings, f.dev, kept, told.Tracer()), sourceAdapters(settings, gate)...),
		embedder: embedder, vectorFile: vectorFile(kept), Telemetry: told,
	}
	o.door.Audit, o.door.Metrics = parts.auditLogger(f.dev), allMetrics(j)
	if f.dev {
		o.rootToken = cmp.Or(os.Getenv(cli.EnvDevToken), randomToken())
	}
	tuneRuntime() // before anything is made for each processor
	s, err := Start(o)
	if err != nil {
		return errors.Join(err, j.Close())
	}
	if s.agents, err = startLocalAgents(s, settings, log); err != nil {
		return errors.Join(err, s.Close())
	}
	if !a.Err.Terminal { // the end of a terminal is a SIGHUP too, and then a hub ends with it
		parts.followHangups()
	}
	if err := announce(a, s, settings, kept, o.rootToken); err != nil {
		return errors.Join(err, s.Close())
	}
	notifyManager(log, daemon.SdNotifyReady)
	return s.run(ctx)
}

// doorOptions are the settings of the door. A dev hub has no limits.
func doorOptions(c *config.Loaded, dev bool) rpc.Options {
	o := rpc.Options{
		AllowHosts: c.Hosts(), AllowOrigins: c.AllowOrigins,
		TrustedProxies: c.Proxies(), MaxPending: c.MaxPending, MaxPendingOfOne: c.MaxPendingOfOne,
	}
	if !dev {
		o.Rates = &rpc.Rates{
			WritesPerSecond: c.Limits.WritesPerSecond, WriteBurst: c.Limits.WriteBurst,
			BytesPerSecond: c.Limits.BytesPerSecond, ByteBurst: c.Limits.ByteBurst,
			Streams: c.Limits.Streams,
		}
	}
	return o
}

// verifierOf takes the tokens of the issuer that is set; nil without one. The issuer is not asked
// yet.
func verifierOf(ctx context.Context, c *config.Loaded) (hub.Verifier, error) {
	if c.OIDC.Issuer == "" {
		return nil, nil
	}
	return oidc.New(ctx, oidc.Options{
		Issuer: c.OIDC.Issuer, Audience: c.OIDC.Audience, AgentClaim: c.OIDC.Claim,
		ScopeClaim: c.OIDC.ScopeClaim, WorkspaceClaim: c.OIDC.WorkspaceClaim, AllowAdmin: c.OIDC.AllowAdmin,
	})
}
