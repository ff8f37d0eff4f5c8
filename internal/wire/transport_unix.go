//go:build unix

package wire

import (
	"errors"
	"io"
	"os"
	"syscall"
)

// directly is true if system calls can be made on a connection that the runtime waits for.
const directly = true

// errNotNow means that the call would block.
var errNotNow = errors.New("not now")

// readNow reads what there is.
func readNow(fd uintptr, b []byte) (int, error) {
	for {
		n, err := syscall.Read(int(fd), b)
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return 0, errNotNow
		case err != nil:
			return 0, os.NewSyscallError("read", err)
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
}

// writeNow writes what goes.
func writeNow(fd uintptr, b []byte) (int, error) {
	for {
		n, err := syscall.Write(int(fd), b)
		switch err {
		case nil:
			return n, nil
		case syscall.EINTR:
		case syscall.EAGAIN:
			return 0, errNotNow
		default:
			return 0, os.NewSyscallError("write", err)
		}
	}
}
