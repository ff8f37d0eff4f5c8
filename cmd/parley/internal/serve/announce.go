package serve

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/parleyhub/parley/cmd/parley/internal/cli"
	"github.com/parleyhub/parley/cmd/parley/internal/config"
	"github.com/parleyhub/parley/cmd/parley/internal/files"
	"github.com/parleyhub/parley/cmd/parley/internal/journals"
)

// Listening is the first line of stdout with -o json.
type Listening struct {
	Listening string `json:"listening"`
	URL       string `json:"url"`
	// Metrics is where /metrics is served without a token, if that was asked for.
	Metrics string `json:"metrics,omitempty"`
	// Token is the admin token of a dev hub.
	Token string `json:"token,omitempty"`
	// Console is a link that signs in to the console of a dev hub, once.
	Console string `json:"console,omitempty"`
}

// announce prints that the hub takes calls, and how to call it. dir is the directory of the log,
// empty for memory. token is that of a dev hub.
func announce(a *cli.App, s *Server, c *config.Loaded, dir, token string) error {
	first := "listening on " + s.URL
	link, err := s.consoleLink(c, token)
	if err != nil {
		return err
	}
	if c.ReadyFile != "" {
		if err := writeReady(c.ReadyFile, first+"\n"); err != nil {
			return fmt.Errorf("write the ready file: %w", err)
		}
	}
	if a.Format == cli.FormatJSON {
		if err := a.Out.JSON(Listening{Listening: s.Addr, URL: s.URL, Metrics: s.metricsURL, Token: token,
			Console: link}); err != nil {
			return err
		}
	} else {
		a.Out.Line(first)
	}
	if s.metricsURL != "" {
		a.Err.Line("metrics are at " + s.metricsURL)
	}
	switch {
	case c.Journal != "":
		a.Err.Line("the log is on NATS servers, and this hub's replica of it in " +
			cli.Clean(filepath.Join(dir, journals.ReplicaDirectory)))
	case dir == "":
		a.Err.Line("the log is kept in memory: gone when the hub stops (--data DIR keeps it)")
	default:
		a.Err.Line("the log is kept in " + cli.Clean(dir))
	}
	switch {
	case token != "":
		explainDev(a, s.URL, token)
		if link != "" {
			a.Err.Line("console: " + link)
		}
	case !s.hasTokens() && c.OIDC.Issuer == "" && c.Journal != "":
		a.Err.Line("no token was made yet: run 'parley token create --admin --data " + cli.Clean(cli.QuoteWord(c.Journal)) +
			"'")
	case !s.hasTokens() && c.OIDC.Issuer == "":
		a.Err.Line("no token was made yet: stop this hub and run 'parley token create --admin --data " +
			cli.Clean(cli.QuoteWord(dir)) + "'")
	}
	return nil
}

// writeReady writes the ready file, which is there whole or not at all.
func writeReady(name, text string) error {
	f, err := files.Create(name)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := io.WriteString(f, text); err != nil {
		return err
	}
	return f.Commit()
}

// removeReady removes the ready file of a hub that was there before: this one is not ready yet.
func removeReady(c *config.Loaded) error {
	if c.ReadyFile == "" {
		return nil
	}
	if err := os.Remove(c.ReadyFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the old ready file: %w", err)
	}
	return nil
}

// explainDev prints lines to copy into another terminal.
func explainDev(a *cli.App, url, token string) {
	a.Err.Line("in another terminal:")
	a.Err.Line("")
	a.Err.Linef("  export PARLEY_URL=%s", url)
	a.Err.Linef("  export PARLEY_TOKEN=%s", token)
	a.Err.Line("  id=$(parley conversation create --participant ann:human --participant bob:human)")
	a.Err.Line("  parley chat $id --as ann        # and, in a third: parley chat $id --as bob")
	a.Err.Line("")
}
