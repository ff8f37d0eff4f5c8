package bench

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/methods"
)

// ReplayOptions are for NewReplay.
type ReplayOptions struct {
	// Events of the conversation that is read.
	Events int
	// Size is the length of a message's text in bytes.
	Size int
}

func (o ReplayOptions) check() error {
	switch {
	case o.Events < 1 || o.Events > parley.MaxEventsLimit:
		return fmt.Errorf("events: %d: expected 1 to %d", o.Events, parley.MaxEventsLimit)
	case o.Size < 1 || o.Size > 64<<10:
		return fmt.Errorf("size: %d: expected 1 to %d bytes", o.Size, 64<<10)
	}
	return nil
}

// ReadBy is a way to read a conversation: the zero ReadBy subscribes from its beginning, others
// call tail.
type ReadBy struct {
	// Page is how many events are asked for at once, and Ahead how many pages; Ahead 0 is 1.
	Page  int `json:"page,omitempty"`
	Ahead int `json:"ahead,omitempty"`
}

func (by ReadBy) check() error {
	switch {
	case by.Page < 0 || by.Page > parley.MaxPage:
		return fmt.Errorf("page: %d: expected 1 to %d", by.Page, parley.MaxPage)
	case by.Ahead < 0 || by.Ahead > 16:
		return fmt.Errorf("pages ahead: %d: expected 1 to 16", by.Ahead)
	}
	return nil
}

func (by ReadBy) String() string {
	if by.Page == 0 {
		return "subscribe"
	}
	return fmt.Sprintf("tail of %d, %d ahead", by.Page, max(1, by.Ahead))
}

// Replay is one client that reads a whole conversation.
type Replay struct {
	target       Target
	options      ReplayOptions
	conversation string
	socket       *socket
	latest       int64 // seq of the last event
	bytes        int64 // received by the last run, without the heads of frames
	frames       int
}

// NewReplay makes the conversation and connects. End it with Close.
func NewReplay(ctx context.Context, t Target, o ReplayOptions) (r *Replay, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	ids, err := makeConversations(ctx, &t, 1)
	if err != nil {
		return nil, err
	}
	r = &Replay{target: t, options: o, conversation: ids[0]}
	if r.socket, err = t.dial(ctx, ""); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, r.Close)
	defer stop()
	if err := r.socket.post(r.conversation, 0, o.Events, o.Size); err != nil {
		r.Close()
		return nil, err
	}
	r.latest = int64(o.Events) + 1 // the first one is that the conversation was made
	return r, nil
}

// Run reads everything once, and checks that all of it came.
func (r *Replay) Run(ctx context.Context, by ReadBy) (Rate, error) {
	if err := by.check(); err != nil {
		return Rate{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errPatience)
	defer cancel()
	stop := context.AfterFunc(ctx, r.Close)
	defer stop()
	if err := r.socket.wake(); err != nil {
		return Rate{}, err
	}
	defer r.socket.rest()
	r.bytes, r.frames = 0, 0
	use := startUsage(&r.target)
	read := r.pages
	if by.Page == 0 {
		read = r.subscribe
	}
	err := read(by)
	use.stop()
	if ctx.Err() != nil {
		return Rate{}, context.Cause(ctx)
	}
	if err != nil {
		return Rate{}, fmt.Errorf("%s: %w", by, err)
	}
	return use.rate(int(r.latest), []time.Duration{use.elapsed}), nil
}

var (
	nextMark = []byte(`"nextSeq":`)
	seqMark  = []byte(`{"seq":`)
)

// pages calls tail until the last event, with some pages asked for before they are needed: in a
// conversation that hides nothing seqs have no gaps.
func (r *Replay) pages(by ReadBy) error {
	asked, got, short := int64(0), int64(0), false
	open := 0
	take := func(frame []byte) error {
		if !hasResult(frame) {
			return fmt.Errorf("unexpected answer: %.300s", frame)
		}
		r.bytes += int64(len(frame))
		r.frames++
		open--
		next := numberAfter(frame[max(0, len(frame)-within):], nextMark)
		events := int64(bytes.Count(frame, seqMark))
		got += events
		short = short || events < int64(by.Page) && next < r.latest
		return nil
	}
	for got < r.latest {
		for ; asked < r.latest && open < max(1, by.Ahead); open++ {
			r.socket.n++
			start := r.socket.begin()
			r.socket.out = fmt.Appendf(r.socket.out,
				`{"jsonrpc":"2.0","id":%d,"method":"tail","params":{"conversationId":"%s","sinceSeq":%d,"limit":%d}}`,
				r.socket.n, r.conversation, asked, by.Page)
			r.socket.end(start, opText)
			asked += int64(by.Page)
		}
		if open == 0 {
			return fmt.Errorf("%d events came, expected %d", got, r.latest)
		}
		if err := r.socket.flush(); err != nil {
			return err
		}
		if err := r.socket.read(take); err != nil {
			return err
		}
		if short {
			return fmt.Errorf("a page of %d has fewer events: at %d bytes of text they are more than the %d of a page", by.Page,
				r.options.Size, limits.MaxPageBytes)
		}
	}
	return nil
}

var subscriptionMark = []byte(`"subscriptionId":"`)

// subscribe reads the events of a new subscription, and ends it.
func (r *Replay) subscribe(ReadBy) error {
	got, last := int64(0), int64(0)
	take := func(frame []byte) {
		if isEvent(frame) {
			got++
			last = numberAfter(frame, seqMark)
			r.bytes += int64(len(frame))
			r.frames++
		}
	}
	from := int64(0)
	answer, err := r.socket.callAside(methods.Subscribe, &parley.SubscribeParams{ConversationID: r.conversation, SinceSeq: from}, take)
	if err != nil {
		return err
	}
	for got < r.latest {
		err := r.socket.read(func(frame []byte) error {
			take(frame)
			return nil
		})
		if err != nil {
			return err
		}
	}
	if got != r.latest || last != r.latest {
		return fmt.Errorf("%d events came and the last was %d, expected %d", got, last, r.latest)
	}
	at := bytes.Index(answer, subscriptionMark)
	id, _, _ := bytes.Cut(answer[at+len(subscriptionMark):], []byte(`"`))
	_, err = r.socket.call(methods.Unsubscribe, &parley.UnsubscribeParams{SubscriptionID: string(id)})
	return err
}

// Close closes the connection. The conversation stays as it is.
func (r *Replay) Close() { r.socket.close() }
