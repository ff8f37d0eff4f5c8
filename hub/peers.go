package hub

// Peers carry between the hubs of one journal what is not in it: who is connected where, and deltas. Nothing is decided on it: what is lost or late is a
// presence that is told late, or text that comes with its message.
type Peers interface {
	// Send gives data to every other hub at most once, those of one hub in order. It does not block and keeps nothing of data. An error means that nobody gets it.
	Send(data []byte) error
	// Listen calls f with what others send, from now on until stop, which waits for the last call, one call after another. f does not call stop.
	Listen(f func(data []byte)) (stop func(), err error)
	// MaxBytes bounds data.
	MaxBytes() int
}
