package hubproc

// Cut sends SIGKILL to a hub that may already be dead, such as one that lost its disk.
func (h *Hub) Cut() {
	h.cmd.Process.Kill() // does nothing to a dead process
	h.cmd.Wait()
}
