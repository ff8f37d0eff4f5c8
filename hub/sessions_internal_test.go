package hub

// SessionsHeld returns, for tests outside of the package, [sessions.Service.Size].
func (h *Hub) SessionsHeld() (live, places int) { return h.sessions.Size() }
