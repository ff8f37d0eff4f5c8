package failover

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/parleyhub/parley/internal/hubproc"
)

var (
	rounds = flag.Int("failover.rounds", 1, "how often a hub is killed, and how often one is frozen")
	crowd  = flag.Int("failover.crowd", 5, "how many writers, pairs of one who asks and one who answers, and readers there are: of each so many")
	within = flag.Duration("failover.within", 15*time.Second, "within what time a client speaks again whose hub is killed; one whose hub is silent has silence more")
	ready  = flag.Duration("failover.ready", 20*time.Second, "how long a hub that is renewed may take from its start until it takes calls")
)

var program hubproc.Program

func TestMain(m *testing.M) {
	os.Exit(hubproc.Main(m, func(p hubproc.Program) { program = p }))
}
