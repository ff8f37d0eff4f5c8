package torture

import (
	"fmt"
	"os"
	"testing"

	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/torture/duel"
)

var program hubproc.Program

func TestMain(m *testing.M) {
	if id := os.Getenv(duel.EnvReplica); id != "" {
		if err := duel.RunReplica(id); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(hubproc.Main(m, func(p hubproc.Program) { program = p }))
}

// dial connects and authenticates as agent. The hub has nothing to say to such a caller but
// answers.
func dial(h *hubproc.Hub, agent string) (*hubproc.Caller[struct{}], error) {
	return hubproc.Dial[struct{}](h.URL, agent, nil, hubproc.CallerOptions{})
}
