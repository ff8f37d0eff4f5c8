package a2a

import (
	"flag"
	"os"
	"testing"

	"github.com/parleyhub/parley/internal/hubproc"
)

var (
	kills = flag.Int("a2a.kills", 3,
		"how often the hub is killed under streams, and again under those of an adapter apart, which is killed as often")
	pushKills = flag.Int("a2a.pushkills", 1,
		"how often the hub is killed while webhooks are told, and again where the adapter apart tells them; both, and the webhooks")
	streams = flag.Int("a2a.streams", 100, "streams of one token in TestBusyStreams")
	many    = flag.Int("a2a.tasks", 300, "how many tasks one participant begins")
)

var program hubproc.Program

func TestMain(m *testing.M) {
	os.Exit(hubproc.Main(m, func(p hubproc.Program) { program = p }))
}
