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

// order is what a supervisor is told.
type order struct {
	Kind orderKind
	// The rest is for run, which comes with the three files of the program.
	Path, Dir string
	Argv, Env []string
}

type orderKind int

const (
	orderRun orderKind = iota + 1
	orderTerminate
	orderKill
)

// sendWait bounds how long a supervisor may take to read an order.
const sendWait = 10 * time.Second

// headerSize is that of the length before each order. The files come with it.
const headerSize = 4

// orders writes orders. The names of types and fields go over once.
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

// ordersIn reads orders. It waits in the kernel: the thread that waits is the one that goes on.
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

// receive gives the next order and its files. The files are marked to stay in this process.
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

// socketPair gives two ends of a socket, one of them for another process.
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

// unixConn makes a connection of a socket, which is closed with it.
func unixConn(fd int) (*net.UnixConn, error) {
	f := os.NewFile(uintptr(fd), "link")
	defer f.Close() // the connection has a copy
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	conn, ok := c.(*net.UnixConn)
	if !ok {
		return nil, errors.New("no Unix socket")
	}
	return conn, nil
}
