package fold

import "github.com/parleyhub/parley"

// Due is closesAt.
func (s *State) Due() (parley.Timestamp, string) { return s.closesAt() }
