package devcluster

import (
	"testing"

	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
	"github.com/parleyhub/parley/internal/hubproc"
)

// TestDevCluster runs the script of dev-cluster, whose program needs a build tag: DEVCLUSTER is
// that program.
func TestDevCluster(t *testing.T) {
	t.Parallel()
	clitest.RunScripts(t, "devcluster", map[string]string{"DEVCLUSTER": string(hubproc.BuildTagged(t, "devcluster"))})
}

func TestMain(m *testing.M) { clitest.Main(m) }
