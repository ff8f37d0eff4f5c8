//go:build nodevcluster

package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

// devClusterCommand says that it is not there: the NATS servers which it runs are a good part of the program.
func (a *app) devClusterCommand() *cobra.Command {
	c := &cobra.Command{Use: "dev-cluster", Short: "run three hubs with one log: not in this program, which was built without it", Args: cobra.NoArgs}
	return a.does(c, func(context.Context, []string) error {
		return withHint(errors.New("this program was built without dev-cluster"), "build it without -tags nodevcluster")
	})
}
