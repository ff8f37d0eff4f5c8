package main

import (
	"context"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/parleyhub/parley"
)

// release is set by the linker (-X main.release=v1.2.3); else the build info is asked.
var release string

func version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "dev"
	}
	return info.Main.Version
}

func (a *app) versionCommand() *cobra.Command {
	c := &cobra.Command{Use: "version", Short: "print the version of the program and of the protocol", Args: cobra.NoArgs}
	return a.does(c, func(context.Context, []string) error {
		if a.format == formatJSON {
			return a.out.json(map[string]string{
				"version": version(), "protocolVersion": parley.ProtocolVersion, "go": runtime.Version(),
			})
		}
		a.out.linef("parley %s (protocol %s, %s)", version(), parley.ProtocolVersion, runtime.Version())
		return nil
	})
}
