package process

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"
)

// order is an order to a supervisor.
type order struct {
	Kind orderKind
	// The other fields belong to orderRun, which is sent with the three files of the program.
	Path, Dir string
	Argv, Env []string
}

type orderKind int

const (
	orderRun orderKind = iota + 1
	orderTerminate
	orderKill
)

// sendWait limits the time until a supervisor reads an order.
const sendWait = 10 * time.Second

// headerSize is the size of the length before each order. The files are sent with it.
const headerSize = 4

// orders writes orders. The encoder sends the names of types and fields only once.
type orders struct {
	conn *net.UnixConn
	buf  bytes.Buffer
	enc  *gob.Encoder
}

func newOrders(conn *net.UnixConn) *orders {
	o := &orders{conn: conn}
	o.enc = gob.NewEncoder(&o.buf)
	return o
}

func (o *orders) send(what *order, files ...int) error {
	o.buf.Reset()
	o.buf.Write(make([]byte, headerSize))
	if err := o.enc.Encode(what); err != nil {
		return err
	}
	frame := o.buf.Bytes()
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-headerSize))
	var rights []byte
	if len(files) > 0 {
		rights = syscall.UnixRights(files...)
	}
	if err := o.conn.SetWriteDeadline(time.Now().Add(sendWait)); err != nil {
		return err
	}
	n, _, err := o.conn.WriteMsgUnix(frame, rights, nil)
	if err == nil && n < len(frame) {
		_, err = o.conn.Write(frame[n:])
	}
	return err
}

// ordersIn reads orders. It blocks in a system call, so the goroutine stays on its thread.
type ordersIn struct {
	link *os.File
	buf  bytes.Buffer
	dec  *gob.Decoder
}

func newOrdersIn(link *os.File) *ordersIn {
	o := &ordersIn{link: link}
	o.dec = gob.NewDecoder(&o.buf)
	return o
}

// receive returns the next order and its files. The files are close-on-exec.
func (o *ordersIn) receive() (*order, []int, error) {
	length, files, err := o.header()
	if err != nil {
		return nil, files, err
	}
	o.buf.Reset()
	if _, err := io.CopyN(&o.buf, o.link, length); err != nil {
		return nil, files, err
	}
	what := new(order)
	return what, files, o.dec.Decode(what)
}

func (o *ordersIn) header() (length int64, files []int, err error) {
	header, rights := make([]byte, headerSize), make([]byte, syscall.CmsgSpace(3*4))
	n, nr, err := receiveMessage(int(o.link.Fd()), header, rights)
	if err == nil && n == 0 {
		err = io.EOF
	}
	if err == nil && n < headerSize {
		_, err = io.ReadFull(o.link, header[n:])
	}
	if err != nil {
		return 0, nil, err
	}
	if nr > 0 {
		files, err = parseRights(rights[:nr])
	}
	return int64(binary.BigEndian.Uint32(header)), files, err
}

func receiveMessage(fd int, message, rights []byte) (n, nr int, err error) {
	for {
		n, nr, _, _, err = syscall.Recvmsg(fd, message, rights, syscall.MSG_CMSG_CLOEXEC)
		if err != syscall.EINTR {
			return n, nr, err
		}
	}
}

func parseRights(b []byte) ([]int, error) {
	messages, err := syscall.ParseSocketControlMessage(b)
	if err != nil {
		return nil, err
	}
	if len(messages) != 1 {
		return nil, fmt.Errorf("%d control messages: expected one", len(messages))
	}
	return syscall.ParseUnixRights(&messages[0])
}

// socketPair returns both ends of a socket: one as a connection, one for another process.
func socketPair() (*net.UnixConn, *os.File, error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "link")
	ours, err := unixConn(fds[0])
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return ours, theirs, nil
}

// unixConn returns a connection for a socket, and closes fd.
func unixConn(fd int) (*net.UnixConn, error) {
	f := os.NewFile(uintptr(fd), "link")
	defer f.Close() // the connection has a copy
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	conn, ok := c.(*net.UnixConn)
	if !ok {
		return nil, errors.New("not a Unix socket")
	}
	return conn, nil
}
