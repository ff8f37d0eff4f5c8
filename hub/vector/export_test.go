package vector

// SetMax bounds the bytes of a Store.
func SetMax(s *Store, n int64) { s.max = n }
