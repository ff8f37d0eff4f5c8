package cluster

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/internal/natscluster"
	"github.com/parleyhub/parley/torture/duel"
)

// The environment of a NATS server.
const (
	envServer = "PARLEY_TORTURE_SERVER" // its configuration file; set, this program is one
	envLog    = "PARLEY_TORTURE_LOG"    // the file that it writes what it says to
)

var program hubproc.Program

func TestMain(m *testing.M) {
	if file := os.Getenv(envServer); file != "" {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		if err := natscluster.Serve(ctx, file, os.Getenv(envLog)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if id := os.Getenv(duel.EnvReplica); id != "" {
		if err := duel.RunReplica(id); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(hubproc.Main(m, func(p hubproc.Program) { program = p }, "skew"))
}
