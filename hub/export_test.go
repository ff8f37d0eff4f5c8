package hub

import (
	"time"

	"github.com/parleyhub/parley/hub/fold"
)

// EncodeSaved gives what is kept of a state, so that tests can put a wrong one into the journal.
func EncodeSaved(s fold.State) []byte { return (&saved{state: s}).encode() }

// Skew makes the clock of a hub wrong.
func Skew(o *Options, by time.Duration) { o.skew = by }
