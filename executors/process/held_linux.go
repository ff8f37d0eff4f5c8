package process

import "time"

// held is a program with a supervisor.
type held struct {
	all        *supervisors
	supervisor *supervisor
	program    int
	idle       time.Duration
	patience   *time.Timer // nil until kill
}

var _ holder = (*held)(nil)

func (h *held) pid() int { return h.program }

func (h *held) terminate() { h.order(orderTerminate) }

// kill orders the supervisor to kill the program. If that takes too long, the watcher does it.
func (h *held) kill() {
	h.order(orderKill)
	h.patience = time.AfterFunc(killWait, h.supervisor.abandon)
}

func (h *held) order(kind orderKind) {
	h.supervisor.wake()
	_ = h.supervisor.out.send(&order{Kind: kind}) // fails if the supervisor ended, which is reported
}

func (h *held) ended() <-chan report { return h.supervisor.reports }

// release returns the supervisor to the pool if no process is left.
func (h *held) release(r report, known bool) {
	inTime := h.patience == nil || h.patience.Stop()
	if inTime && known && r.Ended && !r.Broken && r.Left == 0 {
		h.all.put(h.supervisor, h.idle)
		return
	}
	h.supervisor.end()
	if !h.supervisor.watcher.ProcessState.Success() { // then no one looked for the rest, but the group is known
		killGroup(h.program)
	}
}
