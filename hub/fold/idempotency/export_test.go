package idempotency

// ErrKeys is errKeys.
var ErrKeys = errKeys
