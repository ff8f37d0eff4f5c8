package netns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// lost is how long one waits for what does not come.
const lost = 300 * time.Millisecond

// arrives detects a byte that never arrives.
const arrives = 2 * time.Minute

// TestLose: what one host sends to another is lost, on a connection that there is, and the other
// way stays; healed, all that was sent comes.
func TestLose(t *testing.T) {
	lan := NewLAN(t)
	a, b := lan.Add("a"), lan.Add("b")
	var l net.Listener
	err := b.Do(func() (err error) {
		l, err = net.Listen("tcp", b.Address+":7447")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	near, err := a.Dial(ctx, "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	say(t, near, far, "1", nil)

	a.Lose(b)
	say(t, near, far, "2", os.ErrDeadlineExceeded)
	say(t, far, near, "3", nil)
	b.Lose(a)
	say(t, far, near, "4", os.ErrDeadlineExceeded)

	lan.Heal()
	for _, c := range []struct {
		conn net.Conn
		want string
	}{{far, "2"}, {near, "4"}} {
		if err := hear(c.conn, c.want, arrives); err != nil {
			t.Errorf("after the heal: %v", err)
		}
	}
}

// say says a byte, and expects what comes of it at the other end.
func say(t *testing.T, from, to net.Conn, text string, want error) {
	t.Helper()
	if _, err := io.WriteString(from, text); err != nil {
		t.Fatal(err)
	}
	within := arrives
	if want != nil {
		within = lost
	}
	if err := hear(to, text, within); !errors.Is(err, want) {
		t.Fatalf("%q from %s: %v, expected %v", text, from.LocalAddr(), err, want)
	}
}

func hear(c net.Conn, text string, within time.Duration) error {
	if err := c.SetReadDeadline(time.Now().Add(within)); err != nil {
		return err
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(c, got); err != nil {
		return err
	}
	if string(got) != text {
		return errors.New("came " + string(got) + ", expected " + text)
	}
	return nil
}

// TestLeftOut: a kernel without bridges or veth leaves the test out, and does not fail it.
func TestLeftOut(t *testing.T) {
	Need(t)
	ip, err := exec.LookPath("ip")
	if err != nil {
		t.Fatal(err)
	}
	for _, without := range []string{"bridge", "veth"} {
		t.Run(without, func(t *testing.T) {
			dir := t.TempDir()
			script := fmt.Sprintf("#!/bin/sh\ncase \"$*\" in *\"type %s\"*) echo Not supported >&2; exit 2;; esac\nexec %s \"$@\"\n", without, ip)
			if err := os.WriteFile(filepath.Join(dir, "ip"), []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
			t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
			var left bool
			t.Run("left", func(t *testing.T) {
				defer func() { left = t.Skipped() }()
				NewLAN(t)
			})
			if !left {
				t.Error("the test was not left out")
			}
		})
	}
}
