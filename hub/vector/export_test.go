package vector

// SetMax has a Store begin anew beyond so many bytes.
func SetMax(s *Store, n int64) { s.max = n }
