//go:build unix

package bench

import (
	"net"
	"syscall"
)

// rawOf is nil where conn is not the kernel's own.
func rawOf(conn net.Conn) syscall.RawConn {
	c, ok := conn.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}

func readFD(fd uintptr, b []byte) (int, error) { return syscall.Read(int(fd), b) }
