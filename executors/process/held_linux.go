package process

import "time"

// held is a program that a supervisor holds.
type held struct {
	all        *supervisors
	supervisor *supervisor
	program    int
	idle       time.Duration
	patience   *time.Timer // nil until it is to be killed
}

var _ holder = (*held)(nil)

func (h *held) pid() int { return h.program }

func (h *held) terminate() { h.order(orderTerminate) }

// kill has the supervisor kill it, and a while later the watcher.
func (h *held) kill() {
	h.order(orderKill)
	h.patience = time.AfterFunc(killWait, h.supervisor.abandon)
}

func (h *held) order(kind orderKind) {
	h.supervisor.wake()
	_ = h.supervisor.out.send(&order{Kind: kind}) // it fails when it has ended, and that is reported
}

func (h *held) ended() <-chan report { return h.supervisor.reports }

// release gives the supervisor back when it holds nothing.
func (h *held) release(r report, known bool) {
	inTime := h.patience == nil || h.patience.Stop()
	if inTime && known && r.Ended && !r.Broken && r.Left == 0 {
		h.all.put(h.supervisor, h.idle)
		return
	}
	h.supervisor.end()
	if !h.supervisor.watcher.ProcessState.Success() { // then nobody has looked for what was left, but the group is known
		killGroup(h.program)
	}
}
