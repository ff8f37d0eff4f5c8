package listen

import (
	"errors"
	"syscall"
)

// tcpUserTimeout is TCP_USER_TIMEOUT of linux/tcp.h.
const tcpUserTimeout = 18

// setUserTimeout lets a connection end on which nothing is acknowledged for deadAfter. Connections
// have it from their listener.
func setUserTimeout(_, _ string, raw syscall.RawConn) (err error) {
	outer := raw.Control(func(fd uintptr) {
		err = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(deadAfter.Milliseconds()))
	})
	return errors.Join(err, outer)
}
