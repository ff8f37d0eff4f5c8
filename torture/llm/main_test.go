package llm

import (
	"flag"
	"os"
	"testing"

	"github.com/parleyhub/parley/internal/hubproc"
)

var (
	rounds   = flag.Int("llm.rounds", 1, "how often the process of the agent is killed at each point")
	hubKills = flag.Int("llm.hubkills", 0, "at how many points the hub is killed; 0, at all")
)

var program hubproc.Program

func TestMain(m *testing.M) {
	if isWorker() {
		os.Exit(work())
	}
	os.Exit(hubproc.Main(m, func(p hubproc.Program) { program = p }))
}
