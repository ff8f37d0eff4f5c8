package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/methods"
)

func (s *parleyServer) prepare(ctx context.Context, n int) error {
	lines, err := open(ctx, min(n, dialers), func(ctx context.Context, _ int) (*line, error) { return s.dial(ctx) })
	if err != nil {
		return err
	}
	defer closeAll(lines)
	var next atomic.Int64
	err = each(ctx, lines, func(l *line) error {
		for i := next.Add(1); i <= int64(n); i = next.Add(1) {
			if err := createConversation(l, parleySpread(int(i-1)), parley.KindAgent); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	s.spread, s.made = n, 0
	s.made, err = s.appended(ctx)
	return err
}

func parleySpread(i int) string { return "c-" + strconv.Itoa(i) }

// createConversation creates a conversation in which anyone may speak and no limit is reached.
func createConversation(l *line, id string, speaker parley.ParticipantKind) error {
	return parleyCall(l, methods.CreateConversation, &parley.CreateConversationParams{
		ConversationID: id,
		Participants:   []parley.Participant{{ID: parleySpeaker, Kind: speaker}},
		Policy:         &parley.Policy{Kind: parley.PolicyOpen},
		Limits:         &parley.Limits{MaxEvents: parley.MaxEventsLimit, MaxBytes: parley.MaxBytesLimit},
	}, &parley.Snapshot{})
}

func (s *parleyServer) appender(ctx context.Context, i, window int) (*lane, error) {
	return s.lane(ctx, i, window, parley.FinalityTurn, func() string { return parleySpread(rand.IntN(s.spread)) })
}

// lane sends messages, each with a new key. The id of a call contains its slot and is not used
// twice.
func (s *parleyServer) lane(ctx context.Context, index, window int, f parley.Finality,
	conversation func() string) (*lane, error) {
	l, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	l.hear = func(b []byte) (message, error) {
		m, err := hearParley(b)
		m.slot %= window
		return m, err
	}
	run, n := rand.Uint32(), 0
	return newLane(l, window, func(b []byte, slot int) []byte {
		n++
		from := len(b)
		b = append(beginFrame(b), `{"jsonrpc":"2.0","id":`...)
		b = strconv.AppendInt(b, int64(n*window+slot), 10)
		b = append(b, `,"method":"sendMessage","params":{"conversationId":"`...)
		b = append(b, conversation()...)
		b = append(b, `","payload":{"text":"`...)
		b = append(b, s.text...)
		b = append(b, `"},"finality":"`...)
		b = append(b, f...)
		b = append(b, `","clientRequestId":"`...)
		b = strconv.AppendUint(b, uint64(run), 10)
		b = append(b, '-')
		b = strconv.AppendInt(b, int64(index), 10)
		b = append(b, '-')
		b = strconv.AppendInt(b, int64(n), 10)
		return endFrame(append(b, `"}}`...), from)
	}), nil
}

func (s *parleyServer) appended(ctx context.Context) (int, error) {
	l, err := s.dial(ctx)
	if err != nil {
		return 0, err
	}
	defer l.close()
	sum := -s.made
	q := &parley.ListConversationsParams{Limit: 100}
	for {
		var page parley.ListConversationsResult
		if err := parleyCall(l, methods.ListConversations, q, &page); err != nil {
			return 0, err
		}
		for _, c := range page.Conversations {
			if strings.HasPrefix(c.ConversationID, "c-") {
				sum += int(c.LatestSeq)
			}
		}
		if q.Cursor = page.NextCursor; q.Cursor == "" {
			return sum, nil
		}
	}
}

func (s *parleyServer) mostSubscribers() int { return 100_000 }

// subscriber has its cursor at the head.
func (s *parleyServer) subscriber(ctx context.Context, _ int) (*line, error) {
	l, err := s.dial(ctx)
	if err != nil {
		return nil, err
	}
	q := parley.SubscribeParams{ConversationID: parleyOne, SinceSeq: s.head, Types: []parley.EventType{parley.TypeMessage}}
	if err = parleyCall(l, methods.Subscribe, q, &parley.SubscribeResult{}); err == nil {
		_, err = l.await(end)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// publisher opens a lane for later subscribers. Its messages leave the turn open, so that
// subscribers receive messages only.
func (s *parleyServer) publisher(ctx context.Context) (*lane, error) {
	l, err := s.lane(ctx, 0, limits.MaxInFlight, parley.FinalityNone, func() string { return parleyOne })
	if err != nil {
		return nil, err
	}
	if s.head == 0 {
		err = createConversation(l.line, parleyOne, parley.KindPeer)
	}
	var now parley.Snapshot
	if err == nil {
		err = parleyCall(l.line, methods.GetConversation, &parley.GetConversationParams{ConversationID: parleyOne, Limit: 1},
			&now)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	s.head = now.LatestSeq
	return l, nil
}

func (s *parleyServer) fill(ctx context.Context, n int) error {
	l, err := s.publisher(ctx)
	if err != nil {
		return err
	}
	defer l.close()
	return l.times(n)
}

func (s *parleyServer) readers() []reader {
	return []reader{
		{name: "parley subscribe", open: s.dial, read: subscribeAll},
		{name: "parley tail 1000", open: s.dial, read: tailAll},
	}
}

// subscribeAll reads all messages through a subscription that begins at the beginning.
func subscribeAll(l *line) (int, error) {
	var got parley.SubscribeResult
	q := parley.SubscribeParams{ConversationID: parleyOne, Types: []parley.EventType{parley.TypeMessage}}
	if err := parleyCall(l, methods.Subscribe, q, &got); err != nil {
		return 0, err
	}
	n, err := l.countUntilEnd()
	if err != nil {
		return 0, err
	}
	return n, parleyCall(l, methods.Unsubscribe, parley.UnsubscribeParams{SubscriptionID: got.SubscriptionID}, &struct{}{})
}

var (
	parleySeq    = []byte(`{"seq":`)
	parleySaid   = []byte(`"type":"message"`)
	parleyNext   = []byte(`"nextSeq":`)
	parleyLatest = []byte(`"latestSeq":`)
)

// tailAll reads page after page of tail.
func tailAll(l *line) (int, error) {
	messages, since := 0, 0
	for {
		frame := fmt.Appendf(beginFrame(nil),
			`{"jsonrpc":"2.0","id":0,"method":"tail","params":{"conversationId":"%s","sinceSeq":%d,"limit":%d}}`,
			parleyOne, since, parley.MaxPage)
		page, err := l.ask(endFrame(frame, 0))
		if err != nil {
			return 0, err
		}
		foot := page[max(0, len(page)-100):]
		next, latest := numberAfter(foot, parleyNext), numberAfter(foot, parleyLatest)
		if events := bytes.Count(page, parleySeq); events == 0 || events != next-since {
			return 0, fmt.Errorf("a page of %d events, from %d to %d", events, since, next)
		}
		messages += bytes.Count(page, parleySaid)
		if since = next; since == latest {
			return messages, nil
		}
		if since > latest {
			return 0, errors.New("a page past the head")
		}
	}
}

// numberAfter reads the number behind mark.
func numberAfter(b, mark []byte) int {
	_, rest, _ := bytes.Cut(b, mark)
	n, _ := leadingInt(rest)
	return n
}
