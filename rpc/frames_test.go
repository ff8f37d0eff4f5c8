package rpc_test

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/wire"
	"github.com/parleyhub/parley/rpc"
)

// Frames of RFC 6455, written by hand: what no library sends.

const (
	opContinuation = 0x0
	opText         = 0x1
	opClose        = 0x8
	opPing         = 0x9
	opPong         = 0xA

	finBit  = 0x80 // the last frame of a message
	rsv1Bit = 0x40 // compressed
)

const pingCall = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

// handmade is a socket without a WebSocket library.
type handmade struct {
	t    testing.TB
	conn net.Conn
	r    *bufio.Reader
	head http.Header // of the answer to the upgrade
}

// handmade opens a socket, offering what more lines of the request say, each with its end.
func (w *world) handmade(more string) *handmade {
	w.t.Helper()
	c := w.dialRaw()
	fmt.Fprintf(c, "GET /rpc HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nAuthorization: Bearer %s\r\n%s\r\n", devToken, more)
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		w.t.Fatalf("the upgrade: HTTP %d", resp.StatusCode)
	}
	return &handmade{t: w.t, conn: c, r: r, head: resp.Header}
}

// frame returns a masked frame. The mask is zero, so the payload is unchanged.
func frame(first byte, payload string) []byte {
	b := []byte{first}
	switch n := len(payload); {
	case n < 126:
		b = append(b, 0x80|byte(n))
	case n < 1<<16:
		b = binary.BigEndian.AppendUint16(append(b, 0x80|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, 0x80|127), uint64(n))
	}
	return append(append(b, 0, 0, 0, 0), payload...)
}

// fragments is a message in frames of size bytes each.
func fragments(message string, size int) []byte {
	var b []byte
	for op := byte(opText); ; op = opContinuation {
		n := min(size, len(message))
		if n == len(message) {
			return append(b, frame(op|finBit, message)...)
		}
		b = append(b, frame(op, message[:n])...)
		message = message[n:]
	}
}

// write sends all of b from a separate goroutine, because the hub may send first.
func (h *handmade) write(b []byte) {
	go func() { _, _ = h.conn.Write(b) }()
}

// next reads a frame of the hub. It returns opcode 0 at the end of the socket.
func (h *handmade) next() (op byte, payload []byte) {
	h.t.Helper()
	var head [2]byte
	if _, err := io.ReadFull(h.r, head[:]); err != nil {
		return 0, nil
	}
	if head[0]&0x70 != 0 {
		h.t.Errorf("a frame with the reserved bits %x", head[0])
	}
	n := uint64(head[1])
	var long [8]byte
	switch head[1] {
	case 126:
		_, _ = io.ReadFull(h.r, long[6:]) // the code below finds missing bytes
		n = binary.BigEndian.Uint64(long[:])
	case 127:
		_, _ = io.ReadFull(h.r, long[:])
		n = binary.BigEndian.Uint64(long[:])
	}
	payload = make([]byte, n)
	if _, err := io.ReadFull(h.r, payload); err != nil {
		h.t.Fatalf("half a frame: %v", err)
	}
	return head[0] & 0xF, payload
}

// closed reads the close frame, which must be next, and returns its code.
func (h *handmade) closed() int {
	h.t.Helper()
	op, payload := h.next()
	if op != opClose || len(payload) < 2 {
		h.t.Fatalf("opcode %x with %q; expected a close frame", op, payload)
	}
	return int(binary.BigEndian.Uint16(payload))
}

// TestNoCompression: the hub declines compression, so that lengths reveal no content, and a small
// frame cannot be a huge one.
func TestNoCompression(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		for _, offer := range []string{
			"permessage-deflate", "permessage-deflate; client_max_window_bits",
			"permessage-deflate; server_no_context_takeover; client_no_context_takeover",
		} {
			h := w.handmade("Sec-WebSocket-Extensions: " + offer + "\r\n")
			if got := h.head.Values("Sec-WebSocket-Extensions"); len(got) > 0 {
				t.Errorf("%s is answered with %q", offer, got)
			}
			h.write(frame(finBit|opText, pingCall))
			if op, payload := h.next(); op != opText || !strings.Contains(string(payload), "nowMs") {
				t.Errorf("opcode %x: %q", op, payload)
			}
			h.write(frame(finBit|rsv1Bit|opText, pingCall))
			if code := h.closed(); code != 1002 {
				t.Errorf("a compressed frame: close code %d, want 1002 (protocol error)", code)
			}
		}
	})
}

// TestFragments: the fragments of a message change neither its meaning nor its size limit.
func TestFragments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		fill := func(n int) string { return pingCall + strings.Repeat(" ", n-len(pingCall)) }
		drip := w.handmade("")
		for _, message := range []string{pingCall, fill(100_000)} {
			drip.write(fragments(message, 1))
			if op, payload := drip.next(); op != opText || !strings.Contains(string(payload), "nowMs") {
				t.Errorf("%d bytes, one a frame: opcode %x: %.100q", len(message), op, payload)
			}
		}
		whole := w.handmade("")
		whole.write(fragments(fill(parley.MaxFrameBytes), 100))
		if op, payload := whole.next(); op != opText || !strings.Contains(string(payload), "nowMs") {
			t.Errorf("1 MiB in frames of 100 bytes: opcode %x: %.100q", op, payload)
		}
		whole.write(fragments(fill(parley.MaxFrameBytes+1), 100))
		if code := whole.closed(); code != wire.CloseTooBig {
			t.Errorf("a byte more: close code %d", code)
		}
		endless := w.handmade("")
		endless.write(fragments(fill(4<<20), 100)[:6<<20/2]) // never ends
		if code := endless.closed(); code != wire.CloseTooBig {
			t.Errorf("a message without an end: close code %d", code)
		}
	})
}

// TestPingFlood: 40,000 pings are answered, or their sender is cut if it reads nothing. Neither
// delays others, nor costs memory.
func TestPingFlood(t *testing.T) {
	if testing.Short() {
		t.Skip("short: make test runs it, without the race detector")
	}
	const pings = 40_000
	var flood []byte
	for range pings {
		flood = append(flood, frame(finBit|opPing, strings.Repeat("p", 125))...)
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		other := w.as("alice")
		reads, deaf := w.handmade(""), w.handmade("")
		synctest.Wait()
		before := heap()
		begin := time.Now()
		deaf.write(flood)
		reads.write(flood)
		synctest.Wait()
		other.must(methods.Ping, `{}`)
		// most of it is what the network in memory holds; all the pongs would be 10 MB
		if grown := heap() - before; grown > 2<<20 {
			t.Errorf("the heap grew by %d KiB", grown>>10)
		}
		for i := range pings {
			if op, payload := reads.next(); op != opPong || len(payload) != 125 {
				t.Fatalf("answer %d: opcode %x: %q", i, op, payload)
			}
		}
		other.must(methods.Ping, `{}`)
		if took := time.Since(begin); took != 0 {
			t.Errorf("the other client waited %v", took)
		}
		time.Sleep(11 * time.Second)
		synctest.Wait()
		if n := rpc.CountSockets(w.server); n != 2 {
			t.Errorf("%d sockets after 11 s; the one that reads nothing should be gone", n)
		}
		reads.write(frame(finBit|opText, pingCall))
		if op, _ := reads.next(); op != opText {
			t.Errorf("after the flood: opcode %x", op)
		}
	})
}
