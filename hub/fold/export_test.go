package fold

import "github.com/parleyhub/parley"

// ErrKeys is errKeys.
var ErrKeys = errKeys

// Due is due.
func (s *State) Due() (parley.Timestamp, string) { return s.due() }
