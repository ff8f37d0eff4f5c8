package bench

import "encoding/binary"

// serverFrame makes a frame as a hub sends one, with n bytes that begin as an event does.
func serverFrame(n int) []byte {
	payload := make([]byte, max(n, len(eventStart)))
	for i := range payload[copy(payload, eventStart):] {
		payload[len(eventStart)+i] = 'x'
	}
	b := []byte{0x80 | opText}
	switch n := len(payload); {
	case n < 126:
		b = append(b, byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 127), uint64(n))
	}
	return append(b, payload...)
}
