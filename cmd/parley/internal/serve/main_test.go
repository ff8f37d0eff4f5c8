package serve

import (
	"testing"

	"github.com/parleyhub/parley/cmd/parley/internal/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m) }

func TestScripts(t *testing.T) { clitest.RunScripts(t, "script", nil) }
