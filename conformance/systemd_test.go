package conformance

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// mostExposed is ten times the exposure that systemd-analyze may find: 0 is nothing, 100 a service
// that may do everything.
const mostExposed = "15"

// TestSystemdUnit: systemd understands the unit of docs/deploy and its drop-in, and finds the
// service shut well.
func TestSystemdUnit(t *testing.T) {
	t.Parallel()
	analyze := require(t, "systemd-analyze")
	unit := unitIn(t, read(t, deployed("parley.service")), read(t, deployed("parley-tls.conf")))
	if out, err := exec.Command(analyze, "verify", "--man=no", unit).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("verify: %v\n%s", err, out)
	}
	out, err := exec.Command(analyze, "security", "--offline=true", "--no-pager", "--threshold="+mostExposed,
		unit).CombinedOutput()
	if err != nil {
		t.Errorf("security: %v\n%s", err, out)
	}

	// The same must fail for a unit with a mistake, and for one that is open.
	broken := unitIn(t, strings.Replace(read(t, deployed("parley.service")), "Type=notify", "Type=notfy", 1), "")
	if out, err := exec.Command(analyze, "verify", "--man=no", broken).CombinedOutput(); err == nil && len(out) == 0 {
		t.Error("a unit with a mistake was verified")
	}
	open := unitIn(t, "[Service]\nExecStart=/bin/true\n", "")
	if exec.Command(analyze, "security", "--offline=true", "--no-pager", "--threshold="+mostExposed, open).Run() == nil {
		t.Error("a service that may do everything was found shut")
	}
}

// TestUnitDrainsInTime: systemd waits longer than a drain may take, and asks for what serve does.
func TestUnitDrainsInTime(t *testing.T) {
	t.Parallel()
	unit := read(t, deployed("parley.service"))
	for _, line := range []string{
		"Type=notify", "ExecReload=/bin/kill -HUP $MAINPID", "TimeoutStopSec=20", "Restart=on-failure",
		"StateDirectory=parley",
		"ExecStart=/usr/local/bin/parley serve --config /etc/parley/parley.yaml",
	} {
		if !strings.Contains(unit, "\n"+line+"\n") {
			t.Errorf("the unit has no line %s", line)
		}
	}
}

// unitIn puts a unit and its drop-in where systemd-analyze looks for both. The program is the one
// under test.
func unitIn(t *testing.T, unit, dropIn string) string {
	t.Helper()
	dir := t.TempDir()
	name := filepath.Join(dir, "parley.service")
	unit = strings.ReplaceAll(unit, "/usr/local/bin/parley", string(program))
	write(t, name, unit)
	if dropIn != "" {
		write(t, filepath.Join(dir, "parley.service.d", "tls.conf"), dropIn)
	}
	return name
}

func deployed(name string) string { return filepath.Join("..", "docs", "deploy", name) }

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
