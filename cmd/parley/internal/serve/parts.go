package serve

import (
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/rs/zerolog"

	"github.com/parleyhub/parley/cmd/parley/internal/certs"
	"github.com/parleyhub/parley/cmd/parley/internal/config"
)

// parts are what a hub has besides itself and renews at SIGHUP: its certificates and its audit log.
// Both may be absent.
type parts struct {
	tls   *hubTLS
	audit *auditFile
	log   zerolog.Logger

	hangups   chan os.Signal // nil: SIGHUP has its usual meaning
	following sync.WaitGroup
}

// openParts reads the certificates and opens the audit log.
func openParts(c *config.Loaded, log zerolog.Logger) (p *parts, err error) {
	p = &parts{log: log}
	if c.TLS.Cert != "" {
		if p.tls, err = newTLS(filesOf(c), log); err != nil {
			return nil, err
		}
	}
	if c.AuditLog != "" {
		if p.audit, err = openAudit(c.AuditLog, log); err != nil {
			p.close()
			return nil, fmt.Errorf("open the audit log: %w", err)
		}
	}
	return p, nil
}

func filesOf(c *config.Loaded) certs.Files {
	return certs.Files{Cert: c.TLS.Cert, Key: c.TLS.Key, ClientCA: c.TLS.ClientCA}
}

// tlsConfig is nil for a hub that speaks in clear.
func (p *parts) tlsConfig() *tls.Config {
	if p.tls == nil {
		return nil
	}
	return p.tls.config
}

// auditLogger writes to the file of the audit log or, without one, to the log at any level. It is
// nil for a dev hub without such a file, whose log has refusals, and logins at level debug.
func (p *parts) auditLogger(dev bool) *slog.Logger {
	switch {
	case p.audit != nil:
		return slog.New(slog.NewJSONHandler(p.audit, nil))
	case dev:
		return nil
	}
	return slog.New(zerolog.NewSlogHandler(p.log.Level(zerolog.InfoLevel)))
}

// followHangups renews the parts at every SIGHUP, until close.
func (p *parts) followHangups() {
	p.hangups = make(chan os.Signal, 1) // one more while one is under way; together they are one
	signal.Notify(p.hangups, syscall.SIGHUP)
	p.following.Go(func() {
		for range p.hangups {
			p.renew()
		}
	})
}

// renew does what SIGHUP asks for. What cannot be renewed stays as it is.
func (p *parts) renew() {
	notifyManager(p.log, daemon.SdNotifyReloading+"\n"+daemon.SdNotifyMonotonicUsec())
	var failed error
	if p.tls != nil {
		failed = p.tls.reload()
	}
	if p.audit != nil {
		failed = errors.Join(failed, p.audit.reopen())
	}
	if failed != nil {
		p.log.Error().Err(failed).Msg("SIGHUP: not everything could be renewed; what could not is as before")
	} else {
		p.log.Info().Msg("SIGHUP: the certificates and the audit log were opened again; other settings need a restart")
	}
	notifyManager(p.log, daemon.SdNotifyReady)
}

// close ends what openParts and followHangups began.
func (p *parts) close() {
	if p.hangups != nil {
		signal.Stop(p.hangups)
		close(p.hangups)
		p.following.Wait()
	}
	if p.tls != nil {
		p.tls.close()
	}
	if p.audit != nil {
		p.audit.close()
	}
}

// notifyManager sends a state to the service manager that started this program, if it asked for
// that (Type=notify of systemd).
func notifyManager(log zerolog.Logger, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		log.Warn().Err(err).Msg("the service manager cannot be notified")
	}
}
