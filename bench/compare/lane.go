package main

import "time"

// lane is a connection with as many concurrent requests as its window has slots. A slot is free
// again after its answer. Answers that arrive together are followed by one write.
type lane struct {
	*line
	window int
	// request appends a request, whose answer names slot.
	request func(b []byte, slot int) []byte
	// mute: the server does not answer. Then all is written at once.
	mute bool

	out   []byte
	sent  []time.Time // by slot
	first int         // the slot that has waited longest
	took  []time.Duration
}

func newLane(l *line, window int, request func(b []byte, slot int) []byte) *lane {
	return &lane{line: l, window: window, request: request, sent: make([]time.Time, window)}
}

// until makes requests until then, and waits for the answers to those that were made.
func (l *lane) until(then time.Time) error {
	return l.run(func(now time.Time) bool { return now.Before(then) })
}

// times makes n requests and waits for their answers.
func (l *lane) times(n int) error {
	return l.run(func(time.Time) bool {
		n--
		return n >= 0
	})
}

// run makes requests while there are more.
func (l *lane) run(more func(now time.Time) bool) error {
	if err := l.patient(); err != nil {
		return err
	}
	now := time.Now()
	l.out, l.first = l.out[:0], 0
	if l.mute {
		return l.shout(more)
	}
	open := 0
	for open < l.window && more(now) {
		l.say(open, now)
		open++
	}
	for open > 0 {
		if err := l.write(l.out); err != nil {
			return err
		}
		if err := l.read(); err != nil {
			return err
		}
		answered, said, err := l.turnAround(more)
		if err != nil {
			return err
		}
		open += said - answered
	}
	return nil
}

// turnAround reads the answers that have arrived and, while there are more requests, sends one for
// each.
func (l *lane) turnAround(more func(now time.Time) bool) (answered, said int, err error) {
	now := time.Now()
	l.out = l.out[:0]
	for {
		m, _, err := l.whole()
		if err != nil || m.size == 0 {
			return answered, said, err
		}
		if m.kind != answer {
			continue
		}
		answered++
		slot := l.settle(m.slot)
		l.took = append(l.took, now.Sub(l.sent[slot]))
		if more(now) {
			l.say(slot, now)
			said++
		}
	}
}

func (l *lane) say(slot int, now time.Time) {
	l.out = l.request(l.out, slot)
	l.sent[slot] = now
}

// settle says which slot an answer is for.
func (l *lane) settle(slot int) int {
	if slot != oldest {
		return slot
	}
	slot = l.first
	l.first = (l.first + 1) % l.window
	return slot
}

// shout writes all requests.
func (l *lane) shout(more func(now time.Time) bool) error {
	for more(time.Time{}) {
		if l.out = l.request(l.out, 0); len(l.out) < 64<<10 {
			continue
		}
		if err := l.write(l.out); err != nil {
			return err
		}
		l.out = l.out[:0]
	}
	return l.write(l.out)
}
