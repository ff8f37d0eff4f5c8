package hub

import "github.com/parleyhub/parley/hub/fold"

// EncodeSaved gives what is kept of a state, so that tests can put a wrong one into the journal.
func EncodeSaved(s fold.State) []byte { return (&saved{state: s}).encode() }
