package proxy_test

import (
	"bytes"
	"io"
	"net"
	"testing"

	"github.com/parleyhub/parley/torture/proxy"
)

// echo returns back what it is sent, and closes when there is no more.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				io.Copy(c, c)
				c.Close()
			}()
		}
	}()
	return l.Addr().String()
}

// said returns what comes back of what is said through a proxy.
func said(t *testing.T, p *proxy.Proxy, word []byte) []byte {
	t.Helper()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write(word); err != nil {
		t.Fatal(err)
	}
	back := make([]byte, len(word))
	n, _ := io.ReadFull(c, back) // short where it was cut
	return back[:n]
}

// TestCutsAtTheByte: both ways together no more passes than was planned, and what comes is as it
// was said.
func TestCutsAtTheByte(t *testing.T) {
	word := bytes.Repeat([]byte("0123456789"), 100)
	for _, planned := range []int64{0, 1, 999, 1000, 1501, 1999} {
		p, err := proxy.Start(echo(t), func() int64 { return planned })
		if err != nil {
			t.Fatal(err)
		}
		back := said(t, p, word)
		p.Close()
		if c := p.Counts(); int64(len(back)) > max(planned-int64(len(word)), 0) || !bytes.HasPrefix(word, back) ||
			c.Cuts != 1 || c.Bytes != planned {
			t.Errorf("a cut after %d of 2000 bytes: %d bytes back, counted %+v", planned, len(back), c)
		}
	}
}

// TestNeverAndCalm: without a plan, or calmed, everything passes.
func TestNeverAndCalm(t *testing.T) {
	word := bytes.Repeat([]byte("0123456789"), 1000)
	for _, planned := range []int64{proxy.Never, 100} {
		p, err := proxy.Start(echo(t), func() int64 { return planned })
		if err != nil {
			t.Fatal(err)
		}
		p.Calm()
		back := said(t, p, word)
		p.Close()
		if c := p.Counts(); !bytes.Equal(back, word) || c.Cuts != 0 {
			t.Errorf("planned %d: %d of %d bytes back, counted %+v", planned, len(back), len(word), c)
		}
	}
}
