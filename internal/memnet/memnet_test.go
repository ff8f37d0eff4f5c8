package memnet_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley/internal/memnet"
)

// TestBytes checks that a reader receives all written bytes, also more than the buffer holds, and
// then the end.
func TestBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := memnet.Pipe()
		sent := bytes.Repeat([]byte("0123456789"), memnet.Buffer/3)
		go func() {
			if n, err := a.Write(sent); n != len(sent) || err != nil {
				t.Errorf("wrote %d of %d: %v", n, len(sent), err)
			}
			a.Close()
		}()
		got, err := io.ReadAll(b)
		if err != nil || !bytes.Equal(got, sent) {
			t.Errorf("read %d bytes of %d: %v", len(got), len(sent), err)
		}
		if _, err := b.Write([]byte("x")); err == nil {
			t.Error("wrote to an end that is gone")
		}
		b.Close()
		if _, err := b.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("read from a closed end: %v", err)
		}
	})
}

func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := memnet.Pipe()
		defer b.Close()
		defer a.Close()
		begin := time.Now()
		b.SetReadDeadline(begin.Add(time.Second))
		if _, err := b.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begin) != time.Second {
			t.Errorf("read: %v after %v", err, time.Since(begin))
		}
		a.SetWriteDeadline(time.Now().Add(time.Second))
		if n, err := a.Write(make([]byte, 2*memnet.Buffer)); n != memnet.Buffer || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("wrote %d: %v", n, err)
		}
		b.SetReadDeadline(time.Time{})
		if n, err := b.Read(make([]byte, 10)); n != 10 || err != nil {
			t.Errorf("after the deadline was taken back: %d, %v", n, err)
		}
		go func() {
			time.Sleep(time.Second)
			a.SetDeadline(time.Now()) // wakes the reader
		}()
		a.SetDeadline(time.Now().Add(time.Hour))
		begin = time.Now()
		if _, err := a.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(begin) != time.Second {
			t.Errorf("a deadline that was moved: %v after %v", err, time.Since(begin))
		}
	})
}

func TestListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := memnet.Listen()
		go func() {
			c, err := l.Accept()
			if err != nil {
				t.Error(err)
				return
			}
			c.Write([]byte("hello"))
			c.Close()
		}()
		c, err := l.Dial(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(c); string(got) != "hello" || err != nil {
			t.Errorf("read %q, %v", got, err)
		}
		c.Close()
		l.Close()
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("accept after close: %v", err)
		}
		if _, err := l.Dial(t.Context()); !errors.Is(err, net.ErrClosed) {
			t.Errorf("dial after close: %v", err)
		}
	})
}

// TestDeadlineDuringRead checks that a deadline that is set while a read starts ends the read.
func TestDeadlineDuringRead(t *testing.T) {
	a, b := memnet.Pipe()
	defer a.Close()
	defer b.Close()
	begin, ended := make(chan struct{}), make(chan error)
	defer close(begin)
	go func() {
		for range begin {
			_, err := a.Read(make([]byte, 1))
			ended <- err
		}
	}()
	missed := time.After(5 * time.Minute)
	var spin atomic.Int64
	for i := range 200_000 {
		a.SetReadDeadline(time.Time{})
		begin <- struct{}{}
		for range i % 400 { // so that the deadline falls at every point of the read
			spin.Add(1)
		}
		a.SetReadDeadline(time.Unix(1, 0))
		select {
		case err := <-ended:
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatal(err)
			}
		case <-missed:
			t.Fatal("the read missed its deadline")
		}
	}
}
