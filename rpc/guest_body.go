package rpc

import "io"

// countedBody is the body of a visit, whose bytes are counted as they come: what does not come takes up no room.
type countedBody struct {
	io.Reader
	visit  *visit
	length int64 // as the head says; -1: not known
	read   int64
	held   int64
}

// Read reads, as long as there is room.
func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if b.read += int64(n); b.read > b.held {
		piece := max(b.read-b.held, bodyPiece)
		if left := b.length - b.held; left > 0 {
			piece = min(piece, left)
		}
		if err := b.visit.lobby.hold(b.visit, piece); err != nil {
			return 0, err
		}
		b.held += piece
	}
	return n, err
}
