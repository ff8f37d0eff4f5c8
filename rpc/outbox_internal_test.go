package rpc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/rpc/internal/calls"
)

// taker is a peer that takes what it likes.
type taker struct {
	t    *testing.T
	busy atomic.Bool // a write is under way, or its rest is

	got           []byte
	frames, bytes int
}

func (p *taker) begin() {
	if p.busy.Swap(true) {
		p.t.Error("two write at once")
	}
}

func (p *taker) take(b []byte) { p.got = append(p.got, b...) }

func (p *taker) try(b []byte) ([]byte, error) {
	p.begin()
	n := len(b)
	if rand.IntN(3) == 0 {
		n = rand.IntN(len(b) + 1)
	}
	p.take(b[:n])
	p.busy.Store(n < len(b))
	return b[n:], nil
}

func (p *taker) write(b []byte) error {
	if !p.busy.Load() {
		p.begin()
	}
	runtime.Gosched()
	p.take(b)
	p.busy.Store(false)
	return nil
}

func (p *taker) outbox(f *workerPool[*outbox]) *outbox {
	return &outbox{
		flushers: f, try: p.try, write: p.write,
		sent:   func(frames, bytes int) { p.frames, p.bytes = p.frames+frames, p.bytes+bytes },
		broken: func(err error) { p.t.Errorf("broken: %v", err) },
	}
}

// texts takes the frames that came apart.
func (p *taker) texts() (texts []string) {
	for b := p.got; len(b) > 0; {
		head, size := 2, int(b[1])
		switch size {
		case 126:
			head, size = 4, int(binary.BigEndian.Uint16(b[2:]))
		case 127:
			head, size = 10, int(binary.BigEndian.Uint64(b[2:]))
		}
		texts = append(texts, string(b[head:head+size]))
		b = b[head+size:]
	}
	return texts
}

// TestOutboxOrder: for any partial writes, every frame is written once and whole, the frames of an
// author are in order, and there is one writer at a time.
func TestOutboxOrder(t *testing.T) {
	const peers, authors, frames = 6, 3, 200
	f := newWorkerPool((*outbox).flush)
	defer f.stop()
	var all sync.WaitGroup
	for range peers {
		all.Go(func() {
			p := &taker{t: t}
			o := p.outbox(f)
			var group sync.WaitGroup
			for a := range authors {
				group.Go(func() {
					for i := range frames {
						if o.waitForRoom(t.Context(), true) != nil {
							t.Error("no room in an outbox that has not ended")
						}
						o.addFrame(fmt.Appendf(nil, "%d %d ", a, i), bytes.Repeat([]byte("x"), rand.IntN(400))...)
					}
				})
			}
			group.Wait()
			<-o.settled()
			p.check(authors, frames)
			o.end()
		})
	}
	all.Wait()
}

func (p *taker) check(authors, frames int) {
	next, size := make([]int, authors), 0
	for _, text := range p.texts() {
		var a, i int
		if _, err := fmt.Sscanf(text, "%d %d ", &a, &i); err != nil || i != next[a] {
			p.t.Fatalf("%.20q came where %d is next, %v", text, next[a], err)
		}
		next[a]++
		size += len(text)
	}
	if p.frames != authors*frames || p.bytes != size {
		p.t.Errorf("%d frames of %d bytes were counted, expected %d of %d", p.frames, p.bytes, authors*frames, size)
	}
}

// TestOutboxFails: a failed write, at once or after a wait, ends the outbox once, and ends all
// waits for it.
func TestOutboxFails(t *testing.T) {
	gone := errors.New("gone")
	for _, late := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := newWorkerPool((*outbox).flush)
			defer f.stop()
			p, failed := &taker{t: t}, 0
			o := p.outbox(f)
			o.broken = func(error) { failed++ }
			stuck := make(chan struct{})
			o.try = func(b []byte) ([]byte, error) {
				if late {
					return b, nil
				}
				<-stuck
				return nil, gone
			}
			o.write = func([]byte) error { <-stuck; return gone }
			c := &calls.Call{Request: calls.Request{ID: "1"}}
			if err := o.beginCall(c); err != nil {
				t.Fatal(err)
			}
			o.addFrame([]byte("first"))
			synctest.Wait()
			o.addFrame(make([]byte, outboxFull+1))
			waited := make(chan error, 1)
			go func() { waited <- o.waitForRoom(t.Context(), true) }()
			synctest.Wait()
			close(stuck)
			if err := <-waited; err != calls.ErrSocketEnded {
				t.Errorf("room gave %v, expected the end of the socket", err)
			}
			<-o.settled()
			o.finishCall(c, []byte("late"))
			o.addFrame([]byte("later"))
			o.end()
			if o.b != nil || o.flushing || failed != 1 {
				t.Errorf("held %v, flushing %v, failed %d times; expected nothing, and once", o.b != nil, o.flushing, failed)
			}
		})
	}
}

// TestOutboxEnds: the end of a socket waits for the writer only.
func TestOutboxEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newWorkerPool((*outbox).flush)
		defer f.stop()
		p := &taker{t: t}
		o := p.outbox(f)
		stuck := make(chan struct{})
		o.try = func(b []byte) ([]byte, error) { return b, nil }
		o.write = func(b []byte) error { <-stuck; return p.write(b) }
		if err := o.beginCall(&calls.Call{Request: calls.Request{ID: "1", Handler: handlers[methods.Ping]}}); err != nil {
			t.Fatal(err)
		}
		o.addFrame([]byte("one"))
		synctest.Wait()
		o.addFrame([]byte("two"))
		ended := make(chan struct{})
		go func() { o.end(); close(ended) }()
		synctest.Wait()
		select {
		case <-ended:
			t.Error("the outbox ended while its frames were written")
		default:
		}
		close(stuck)
		<-ended
		if texts := p.texts(); len(texts) != 1 || texts[0] != "one" {
			t.Errorf("%q went out, expected the frame that was being written", texts)
		}
	})
}
