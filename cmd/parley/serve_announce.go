package main

import (
	"fmt"
	"os"
)

// listening is the first line of stdout with -o json.
type listening struct {
	Listening string `json:"listening"`
	URL       string `json:"url"`
	// Token is the admin token of a dev hub.
	Token string `json:"token,omitempty"`
}

// announce tells that the hub takes calls, and how to make some.
func (a *app) announce(s *server, f serveFlags, where, token string) error {
	first := "listening on " + s.url
	if f.readyFile != "" {
		if err := os.WriteFile(f.readyFile, []byte(first+"\n"), 0o600); err != nil {
			return fmt.Errorf("write the ready file: %w", err)
		}
	}
	if a.format == formatJSON {
		if err := a.out.json(listening{Listening: s.addr, URL: s.url, Token: token}); err != nil {
			return err
		}
	} else {
		a.out.line(first)
	}
	a.err.line("the log is kept " + where)
	switch {
	case f.dev:
		a.explainDev(s.url, token)
	case !s.hasTokens():
		a.err.line("no token was made yet: stop this hub and run 'parley token create --admin" + dataArgument(f) + "'")
	}
	return nil
}

func dataArgument(f serveFlags) string {
	if f.data == "" {
		return ""
	}
	return " --data " + f.data
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
