package triggers

import (
	"flag"
	"os"
	"testing"
	"time"

	"github.com/parleyhub/parley/internal/hubproc"
)

// 'make torture' asks for more than these.
var (
	count         = flag.Int("triggers.count", 500, "notes and messages that wake agents")
	conversations = flag.Int("triggers.conversations", 12, "conversations that they are said in")
	every         = flag.Duration("triggers.every", 600*time.Millisecond,
		"between two kills of the hub, give or take a half")
	ahead = flag.Int("triggers.ahead", 6,
		"matches of a conversation that wait before no more is said in it: so the kills fall while work is under way; fewer where a machine is busy with other things")
	runnerKills = flag.Int("triggers.runnerkills", 1, "kills of the runner of the commands, spread over the run")
	fewest      = flag.Int("triggers.kills", 3, "fewer kills of the hub than this are a failure")
	seed        = flag.Uint64("triggers.seed", 0, "of the moments of the kills; 0, a new one")
)

var program hubproc.Program

func TestMain(m *testing.M) {
	os.Exit(hubproc.Main(m, func(p hubproc.Program) { program = p }))
}
