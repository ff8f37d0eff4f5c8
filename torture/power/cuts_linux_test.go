package power

import (
	"bytes"
	"flag"
	"fmt"
	"os/exec"
	"testing"

	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/torture/disks"
	"github.com/parleyhub/parley/torture/ledger"
)

var cuts = flag.Int("power.cuts", 1, "how often TestPowerCuts cuts the power")

// controls: a disk may write unsynced data by itself, so the control is tried again.
var controls = flag.Int("power.controls", 0,
	"how often TestPowerCutsWithoutSync tries to lose something; 0 leaves it out")

// cutHub cuts the power under the hub, which does not notice: see disks.Disk.Cut.
func cutHub(w *world, d *disks.Disk) {
	w.t.Helper()
	h := w.harm()
	hubproc.Freeze(w.t, h.Pid())
	d.Cut()
	h.Cut()
}

// TestPowerCuts: the disk of a hub under load loses its power at any moment, and whatever was
// acknowledged is there when it is back.
func TestPowerCuts(t *testing.T) {
	if testing.Short() {
		t.Skip("short: power cuts left out")
	}
	d := disks.New(t, 1, 2, 3, 4, 5)
	w := newWorld(t, func() *hubproc.Hub { return program.Start(t, d.Data()) })
	var r rounds
	for range *cuts {
		r.load(w)
		cutHub(w, d)
		d.Restore()
		w.restart()
	}
	w.Settle()
	j := w.judge()
	w.hub.Stop(t)
	t.Log(verify(t, d.Data()))
	w.logSum(j, &r, fmt.Sprintf("%d power cuts", *cuts))
	w.kept(j, *cuts)
}

// TestPowerCutsWithoutSync is the control: a hub that does not wait for the disk must lose
// something that it has acknowledged, or the cuts of TestPowerCuts prove nothing.
func TestPowerCutsWithoutSync(t *testing.T) {
	if testing.Short() {
		t.Skip("short: power cuts left out")
	}
	if hubproc.Shared() {
		t.Skip("the servers of a shared log wait for their disks, whatever the hub does: torture/cluster has that control")
	}
	if *controls == 0 {
		t.Skip("-power.controls 0: the control is part of make torture")
	}
	disks.Need(t, 1)
	unsynced := hubproc.BuildPatched(t, "no-sync")
	for n := range *controls {
		lost, acked := loseOne(t, unsynced)
		t.Logf("control %d: %d of %d acknowledged appends are lost", n+1, lost, acked)
		if lost > 0 {
			return
		}
	}
	t.Errorf("a hub that does not wait for the disk has lost nothing in %d power cuts: they prove nothing", *controls)
}

// loseOne cuts the power once under a hub that does not wait for the disk, and counts what is lost.
func loseOne(t *testing.T, unsynced hubproc.Program) (lost, acked int) {
	t.Helper()
	ok := t.Run("cut", func(t *testing.T) {
		d := disks.New(t, 1)
		w := newWorld(t, func() *hubproc.Hub { return unsynced.Start(t, d.Data()) })
		d.Sync() // so that there is a log to look into
		var r rounds
		r.load(w)
		cutHub(w, d)
		w.End()
		d.Restore()
		lost, acked = w.Lost(exported(t, d.Data()))
	})
	if !ok || acked == 0 {
		t.Fatalf("the control could not be run: %d appends acknowledged", acked)
	}
	return lost, acked
}

// exported returns a log, as far as it can be read.
func exported(t *testing.T, dir string) *ledger.Logs {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command(string(program), "log", "export", "--data", hubproc.Log(dir))
	cmd.Stdout = &out
	if err := hubproc.Start(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Logf("the log cannot be read to its end: %v", err)
	}
	logs, err := ledger.ReadExport(out.Bytes())
	if err != nil {
		t.Logf("the export cannot be read to its end: %v", err)
	}
	return logs
}
