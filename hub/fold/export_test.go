package fold

import "github.com/parleyhub/parley"

// Due is due.
func (s *State) Due() (parley.Timestamp, string) { return s.due() }
