package hub

// SessionsHeld counts, for tests of the package outside, the sessions that the hub takes to run, and the places that they have in their trees.
func (h *Hub) SessionsHeld() (live, places int) {
	h.sessions.mu.Lock()
	defer h.sessions.mu.Unlock()
	for _, tree := range h.sessions.trees {
		places += len(tree)
	}
	return len(h.sessions.live) + len(h.sessions.untold), places
}
