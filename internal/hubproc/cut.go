package hubproc

// Cut is kill -9 of a hub that may have ended by itself, as one does whose disk is gone.
func (h *Hub) Cut() {
	h.cmd.Process.Kill() // does nothing to a process that has ended
	h.cmd.Wait()
}
