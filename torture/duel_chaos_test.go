package torture

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/parleyhub/parley/internal/hubproc"
	"github.com/parleyhub/parley/torture/duel"
)

// maxDown is how many replicas are stopped or dead at once, at most.
const maxDown = 5

// What befalls the processes, for the measure of how long a turn has waited.
type blow string

const (
	registered blow = "registered" // a replica, with the hub
	stopped    blow = "stopped"    // SIGSTOP
	continued  blow = "continued"  // SIGCONT
	killed     blow = "killed"     // SIGKILL
	hubKilled  blow = "hub killed"
)

// moment is a blow and when it fell, in ns.
type moment struct {
	at      int64
	replica string // empty for the hub
	blow    blow
}

// replica is a process that runs the agent, and its successors under the same executorId.
type replica struct {
	id    string
	cmd   *exec.Cmd
	out   bytes.Buffer // what the process that runs has printed
	files []string     // of records, one for each process
	down  blow         // stopped or killed; empty while it runs
	until time.Time    // when it comes back
}

// chaos treats processes badly. Its fields belong to the test's goroutine.
type chaos struct {
	t        *testing.T
	rng      *rand.Rand
	dir      string
	token    string
	hub      *hubproc.Hub
	replicas []*replica
	moments  []moment

	steps                  int
	hubDue                 int // the step at which the hub is killed next
	stops, kills, hubKills int
}

// The hub is killed every hubEvery to twice hubEvery steps.
const hubEvery = 15

func (c *chaos) note(r *replica, b blow) {
	m := moment{at: time.Now().UnixNano(), blow: b}
	if r != nil {
		m.replica = r.id
	}
	c.moments = append(c.moments, m)
}

// start starts a replica's process.
func (c *chaos) start(r *replica) {
	c.t.Helper()
	self, err := os.Executable()
	if err != nil {
		c.t.Fatal(err)
	}
	file := filepath.Join(c.dir, fmt.Sprintf("%s.%d.jsonl", r.id, len(r.files)))
	r.files, r.down = append(r.files, file), ""
	r.cmd = exec.Command(self)
	r.cmd.Env = append(os.Environ(), duel.EnvReplica+"="+r.id, duel.EnvRecords+"="+file, duel.EnvURL+"="+c.hub.URL,
		duel.EnvToken+"="+c.token)
	r.out.Reset()
	r.cmd.Stdout, r.cmd.Stderr = &r.out, &r.out
	if err := hubproc.Start(r.cmd); err != nil {
		c.t.Fatal(err)
	}
}

// end kills what runs, stopped or not.
func (c *chaos) end() {
	for _, r := range c.replicas {
		if r.cmd != nil && r.down != killed {
			r.cmd.Process.Kill() // it may ended
			r.cmd.Wait()
			r.down = killed
		}
	}
}

// drainTime detects a replica that hangs after SIGTERM.
const drainTime = 2 * time.Minute

// endKindly resumes stopped replicas and sends SIGTERM to all. They must exit with code 0 in time,
// and finish or release their turns.
func (c *chaos) endKindly() {
	c.t.Helper()
	for _, r := range c.replicas {
		if r.down == stopped {
			c.raise(r)
		}
	}
	for _, r := range c.replicas {
		if r.down == "" {
			r.awaitFile()
			c.signal(r, syscall.SIGTERM)
		}
	}
	late := time.AfterFunc(drainTime, c.killAll)
	defer late.Stop()
	for _, r := range c.replicas {
		if r.down != "" {
			continue
		}
		if err := r.cmd.Wait(); err != nil {
			c.t.Errorf("%s, %s after SIGTERM at most: %v\n%s", r.id, drainTime, err, r.out.Bytes())
		}
		r.down = killed
	}
}

func (c *chaos) killAll() {
	for _, r := range c.replicas {
		r.cmd.Process.Kill() // it may ended
	}
}

// work performs one step: it restarts the replicas that are due and injects one more fault. It
// returns the pause until the next step.
func (c *chaos) work() time.Duration {
	down := 0
	for _, r := range c.replicas {
		if r.down != "" && time.Now().After(r.until) {
			c.raise(r)
		}
		if r.down != "" {
			down++
		}
	}
	if c.steps++; c.steps >= c.hubDue {
		if c.hubDue > 0 {
			c.killHub()
		}
		c.hubDue = c.steps + hubEvery + c.rng.IntN(hubEvery)
	}
	r := c.replicas[c.rng.IntN(len(c.replicas))]
	switch dice := c.rng.IntN(100); {
	case r.down != "" || down >= maxDown:
	case dice < 65:
		c.stop(r)
	default:
		c.kill(r)
	}
	return 20*time.Millisecond + time.Duration(c.rng.Int64N(int64(160*time.Millisecond)))
}

// raise brings back a replica.
func (c *chaos) raise(r *replica) {
	c.t.Helper()
	if r.down == killed {
		c.start(r)
		return
	}
	r.down = ""
	c.signal(r, syscall.SIGCONT)
	c.note(r, continued)
}

func (c *chaos) stop(r *replica) {
	c.note(r, stopped)
	c.signal(r, syscall.SIGSTOP)
	c.stops++
	r.down, r.until = stopped, time.Now().Add(time.Duration(c.rng.Int64N(int64(1500*time.Millisecond))))
}

// kill is kill -9. The process must not ended by itself.
func (c *chaos) kill(r *replica) {
	c.t.Helper()
	c.note(r, killed)
	c.signal(r, syscall.SIGKILL)
	r.cmd.Wait()
	if s := r.cmd.ProcessState.Sys().(syscall.WaitStatus); !s.Signaled() || s.Signal() != syscall.SIGKILL {
		c.t.Fatalf("%s ended by itself before it was killed: %v\n%s", r.id, r.cmd.ProcessState, r.out.Bytes())
	}
	c.kills++
	r.down, r.until = killed, time.Now().Add(time.Duration(c.rng.Int64N(int64(time.Second))))
}

func (c *chaos) signal(r *replica, s syscall.Signal) {
	c.t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		c.t.Fatalf("%s to %s: %v\n%s", s, r.id, err, r.out.Bytes())
	}
}

// killHub is kill -9 and a start on the same data and port.
func (c *chaos) killHub() {
	c.t.Helper()
	c.note(nil, hubKilled)
	c.hub.Kill(c.t)
	c.hubKills++
	c.hub = startDuelHub(c.t, c.dir, address(c.hub))
}

// startDuelHub starts a hub with the data in dir.
func startDuelHub(t *testing.T, dir, listen string) *hubproc.Hub {
	t.Helper()
	return program.Start(t, filepath.Join(dir, "data"), "--listen", listen)
}

// address is where a hub listens: HOST:PORT.
func address(h *hubproc.Hub) string {
	return strings.TrimPrefix(h.HTTP(), "http://")
}

// awaitFile waits until a replica that was only just started has its file of records: before that a
// SIGTERM would end it without a word.
func (r *replica) awaitFile() {
	for deadline := time.Now().Add(drainTime); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(r.files[len(r.files)-1]); err == nil {
			return
		}
	}
}
