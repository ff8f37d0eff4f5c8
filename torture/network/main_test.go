package network

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/parleyhub/parley/internal/hubproc"
)

// The environment of a process in a role.
const (
	envRole   = "PARLEY_TORTURE_ROLE"   // which; set, this program is no test
	envConfig = "PARLEY_TORTURE_CONFIG" // its input, as JSON
)

var program hubproc.Program

// role is the function of a process. It reads further input from stdin and prints results to
// stdout, one line of JSON each.
type role func(config []byte, told *bufio.Scanner, say *json.Encoder) error

var roles = map[string]role{
	"laggards":  runLaggards,
	"crowd":     runCrowd,
	"crawlers":  runCrawlers,
	"flood":     runFlood,
	"far side":  runFarSide,
	"neighbour": runNeighbour,
}

func TestMain(m *testing.M) {
	if name := os.Getenv(envRole); name != "" {
		told := bufio.NewScanner(os.Stdin)
		if err := roles[name]([]byte(os.Getenv(envConfig)), told, json.NewEncoder(os.Stdout)); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(hubproc.Main(m, func(p hubproc.Program) { program = p }))
}
