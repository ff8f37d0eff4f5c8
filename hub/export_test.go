package hub

import "time"

// Loaded returns the number of conversations in memory.
func (h *Hub) Loaded() int { return int(h.Counted().ConversationsLoaded) }

// Skew makes the clock of a hub wrong.
func Skew(o *Options, by time.Duration) { o.skew = by }
