package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/parleyhub/parley/cmd/parley/internal/config"
)

// listening is the first line of stdout with -o json.
type listening struct {
	Listening string `json:"listening"`
	URL       string `json:"url"`
	// Metrics is where /metrics is served without a token, if that was asked for.
	Metrics string `json:"metrics,omitempty"`
	// Token is the admin token of a dev hub.
	Token string `json:"token,omitempty"`
	// Console is a link that signs in to the console of a dev hub, once.
	Console string `json:"console,omitempty"`
}

// announce tells that the hub takes calls, and how to make some. dir is where the log is; empty: in memory. token is that of a dev hub.
func (a *app) announce(s *server, c *config.Loaded, dir, token string) error {
	first := "listening on " + s.url
	link, err := s.consoleLink(c, token)
	if err != nil {
		return err
	}
	if c.ReadyFile != "" {
		if err := writeReady(c.ReadyFile, first+"\n"); err != nil {
			return fmt.Errorf("write the ready file: %w", err)
		}
	}
	if a.format == formatJSON {
		if err := a.out.json(listening{Listening: s.addr, URL: s.url, Metrics: s.metricsURL, Token: token, Console: link}); err != nil {
			return err
		}
	} else {
		a.out.line(first)
	}
	if s.metricsURL != "" {
		a.err.line("metrics are at " + s.metricsURL)
	}
	switch {
	case c.Journal != "":
		a.err.line("the log is on NATS servers, and this hub's replica of it in " + clean(filepath.Join(dir, replicaDir)))
	case dir == "":
		a.err.line("the log is kept in memory: gone when the hub stops (--data DIR keeps it)")
	default:
		a.err.line("the log is kept in " + clean(dir))
	}
	switch {
	case token != "":
		a.explainDev(s.url, token)
		if link != "" {
			a.err.line("console: " + link)
		}
	case !s.hasTokens() && c.OIDC.Issuer == "" && c.Journal != "":
		a.err.line("no token was made yet: run 'parley token create --admin --data " + clean(shellWord(c.Journal)) + "'")
	case !s.hasTokens() && c.OIDC.Issuer == "":
		a.err.line("no token was made yet: stop this hub and run 'parley token create --admin --data " + clean(shellWord(dir)) + "'")
	}
	return nil
}

// writeReady writes the ready file, which is there whole or not at all.
func writeReady(name, text string) error {
	f, err := createWhole(name)
	if err != nil {
		return err
	}
	defer f.discard()
	if _, err := io.WriteString(f, text); err != nil {
		return err
	}
	return f.commit()
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

// shellWord quotes a word for a shell, where it has to be.
func shellWord(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+:@%,="
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// explainDev prints lines to copy into another terminal.
func (a *app) explainDev(url, token string) {
	a.err.line("in another terminal:")
	a.err.line("")
	a.err.linef("  export PARLEY_URL=%s", url)
	a.err.linef("  export PARLEY_TOKEN=%s", token)
	a.err.line("  id=$(parley conversation create --participant ann:human --participant bob:human)")
	a.err.line("  parley chat $id --as ann        # and, in a third: parley chat $id --as bob")
	a.err.line("")
}
