package hubproc

// Cut sends SIGKILL to a hub that may have ended already, such as one that lost its disk.
func (h *Hub) Cut() {
	h.cmd.Process.Kill() // does nothing to a process that has ended
	h.cmd.Wait()
}
