package bench

// OptionsError refuses a run whose options make no sense; nothing was tried.
type OptionsError struct{ err error }

func (e *OptionsError) Error() string { return e.err.Error() }
func (e *OptionsError) Unwrap() error { return e.err }
