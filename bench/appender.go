package bench

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// appender appends on one connection, with some calls in flight. Each of these has a slot: the id
// of a call is its slot and a multiple of their number.
type appender struct {
	*socket
	echo bool   // the answer is the frame itself, not an acknowledgement
	name string // a prefix of its keys
	ids  []string
	text string
	dice *rand.Rand

	acked   *atomic.Int64 // nil, or counts for others too
	calls   int64
	sent    []sending // by slot
	open    int
	done    []int // slots whose answers were in one read
	took    []time.Duration
	answers func([]byte) error
}

// sending is a call that is in flight.
type sending struct {
	id    int64 // 0: none
	bytes int
	at    time.Time
}

func newAppender(s *socket, index int, ids []string, o *LoadOptions, echo bool) *appender {
	a := &appender{
		socket: s, echo: echo, name: loadName(index), ids: ids, text: strings.Repeat("x", o.Size),
		dice: rand.New(rand.NewPCG(rand.Uint64(), uint64(index))), sent: make([]sending, o.InFlight), acked: o.acked,
	}
	a.answers = a.answer
	return a
}

// frameBytes is the length of a call; none may be in flight.
func (a *appender) frameBytes() int {
	a.send(0, time.Time{})
	a.out, a.open = a.out[:0], 0
	a.sent[0].id = 0
	return a.sent[0].bytes
}

// work appends until end, and then waits for what is in flight.
func (a *appender) work(end time.Time) error {
	if err := a.wake(); err != nil {
		return err
	}
	defer a.rest()
	now := time.Now()
	for slot := range a.sent {
		a.send(slot, now)
	}
	for {
		if err := a.flush(); err != nil {
			return err
		}
		if a.open == 0 {
			return nil
		}
		a.done = a.done[:0]
		if err := a.read(a.answers); err != nil {
			return err
		}
		now = time.Now()
		if a.acked != nil {
			a.acked.Add(int64(len(a.done)))
		}
		for _, slot := range a.done {
			a.took = append(a.took, now.Sub(a.sent[slot].at))
			if now.Before(end) {
				a.send(slot, now)
			}
		}
	}
}

// send queues a message that ends its turn, with a new key, to a random conversation.
func (a *appender) send(slot int, now time.Time) {
	a.calls++
	id := a.calls*int64(len(a.sent)) + int64(slot)
	start := a.begin()
	b := append(a.out, `{"jsonrpc":"2.0","id":`...)
	b = strconv.AppendInt(b, id, 10)
	b = append(b, `,"method":"sendMessage","params":{"conversationId":"`...)
	b = append(b, a.ids[a.dice.IntN(len(a.ids))]...)
	b = append(b, `","payload":{"text":"`...)
	b = append(b, a.text...)
	b = append(b, `"},"finality":"turn","clientRequestId":"b`...)
	b = append(b, a.name...)
	b = append(b, '-')
	b = strconv.AppendInt(b, id, 10)
	a.out = append(b, `"}}`...)
	a.sent[slot] = sending{id: id, bytes: len(a.out) - start - usualHead, at: now}
	a.end(start, opText)
	a.open++
}

var sendMark = []byte(`"method":"sendMessage"`)

// answer takes an answer. It must be to a call in flight, and say what it should.
func (a *appender) answer(frame []byte) error {
	id := answerID(frame)
	slot := int(id % int64(len(a.sent)))
	if id <= 0 || a.sent[slot].id != id {
		return fmt.Errorf("an answer to no call in flight: %.300s", frame)
	}
	good := !a.echo && acknowledges(frame) || a.echo && len(frame) == a.sent[slot].bytes &&
		bytes.Contains(frame[:min(len(frame), within)], sendMark)
	if !good {
		return fmt.Errorf("unexpected answer: %.300s", frame)
	}
	a.sent[slot].id = 0
	a.open--
	a.done = append(a.done, slot)
	return nil
}

func (a *appender) taken() (int, []time.Duration) { return take(&a.took) }

// loads counts the appenders of this process.
var loads atomic.Int64

// loadName is one that no other appender of this process has: several may use the same
// conversations.
func loadName(index int) string { return fmt.Sprintf("%d-%d", loads.Add(1), index) }
