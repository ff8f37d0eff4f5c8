package power

import (
	"os"
	"testing"

	"github.com/parleyhub/parley/internal/hubproc"
)

var program hubproc.Program

func TestMain(m *testing.M) {
	os.Exit(hubproc.Main(m, func(p hubproc.Program) { program = p }))
}
