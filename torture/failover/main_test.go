package failover

import (
	"flag"
	"os"
	"testing"

	"github.com/parleyhub/parley/internal/hubproc"
)

var (
	rounds = flag.Int("failover.rounds", 1, "how often a hub is killed, and how often one is frozen")
	crowd  = flag.Int("failover.crowd", 5,
		"how many writers, pairs of one who asks and one who answers, and readers there are: of each so many")
	within = flag.Duration("failover.within", 0,
		"time in which a client of a killed hub must speak again, plus silence for a silent hub; 0 only logs it")
	newer = flag.Bool("failover.newer", false, "also run TestNewerFormat, which builds another program")
	ready = flag.Duration("failover.ready", 0, "time in which a renewed hub must take calls; 0 only logs it")
)

var program hubproc.Program

func TestMain(m *testing.M) {
	os.Exit(hubproc.Main(m, func(p hubproc.Program) { program = p }))
}
