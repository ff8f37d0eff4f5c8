package hub

import (
	"time"

	"github.com/parleyhub/parley/hub/fold"
	"github.com/parleyhub/parley/hub/internal/conv"
)

// EncodeSaved gives what is kept of a state, so that tests can put a wrong one into the journal.
func EncodeSaved(s fold.State) []byte { return conv.EncodeSavedState(s) }

// Loaded returns the number of conversations in memory.
func (h *Hub) Loaded() int { return int(h.Counted().ConversationsLoaded) }

// Skew makes the clock of a hub wrong.
func Skew(o *Options, by time.Duration) { o.skew = by }
