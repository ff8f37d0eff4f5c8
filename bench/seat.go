package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/limits"
	"github.com/parleyhub/parley/internal/methods"
	"github.com/parleyhub/parley/internal/wire"
)

// turnAgents are the two that answer each other.
var turnAgents = [2]string{"left", "right"}

// seatCapacity is how many turns one connection is asked to take at once: half of what may be in
// flight on it.
const seatCapacity = limits.MaxInFlight / 2

// seat is a connection that is registered as a push executor of one of the agents. It waits for the
// next frame only.
type seat struct {
	stream *wire.Stream
	agent  string
	table  *table

	n     int
	frame []byte
	turns map[int]*parley.RequestTurn // by the id of the call that is in flight for it
	took  []time.Duration
}

// takeSeats connects the executors of both agents that n conversations need. The returned ones are
// connected also if there is an error.
func takeSeats(ctx context.Context, hub *Child, t *table) ([]*seat, error) {
	var seats []*seat
	each := (len(t.finals) + seatCapacity - 1) / seatCapacity
	for i := range 2 * each {
		s := &seat{agent: turnAgents[i%2], table: t, turns: map[int]*parley.RequestTurn{}}
		var err error
		if s.stream, err = wire.DialStream(ctx, hub.URL, nil); err != nil {
			return seats, err
		}
		seats = append(seats, s)
		if err := s.register(hub.token, fmt.Sprintf("%s-%d", s.agent, i/2)); err != nil {
			return seats, err
		}
	}
	return seats, nil
}

func closeSeats(seats []*seat) {
	for _, s := range seats {
		if s.stream != nil {
			s.stream.Close()
		}
	}
}

// register says who the connection is, and for whom it takes turns.
func (s *seat) register(token, executor string) error {
	for _, c := range []struct {
		method string
		params any
	}{
		{methods.Authenticate, parley.AuthenticateParams{Token: token, AgentID: s.agent}},
		{methods.RegisterExecutor, parley.RegisterExecutorParams{
			ExecutorID: executor, Agents: []string{s.agent}, Mode: parley.ModePush, Capacity: seatCapacity,
		}},
	} {
		params, err := json.Marshal(c.params)
		if err != nil {
			return err
		}
		s.n++
		if err := s.stream.WriteFrame(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, s.n, c.method,
			params)); err != nil {
			return err
		}
		reply, err := s.stream.ReadFrame(nil)
		if err == nil && !bytes.Contains(reply, []byte(`"ok":true`)) {
			err = fmt.Errorf("%s: %.300s", c.method, reply)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// begin makes the conversations: each begins with a turn of the first agent.
func begin(ctx context.Context, hub *Child, n int) error {
	s, err := dialStream(ctx, hub)
	if err != nil {
		return err
	}
	defer s.Close()
	for i := range n {
		p := parley.CreateConversationParams{
			ConversationID: fmt.Sprintf("turn-%d", i),
			Limits:         &parley.Limits{MaxEvents: parley.MaxEventsLimit, MaxBytes: parley.MaxBytesLimit},
		}
		for _, agent := range turnAgents {
			p.Participants = append(p.Participants, parley.Participant{ID: agent, Kind: parley.KindAgent})
		}
		if err := createBy(s, &p); err != nil {
			return err
		}
	}
	return nil
}

// work takes and ends the offered turns until the end is announced and the connection is closed.
func (s *seat) work() error {
	var buf []byte
	for {
		var err error
		if buf, err = s.stream.ReadFrame(buf); err == nil {
			err = s.handle(buf)
		}
		if s.table.phase.Load() == ending {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// hubFrame is a frame of the hub.
type hubFrame struct {
	ID     int    `json:"id"`
	Method string `json:"method"`
	Params struct {
		parley.RequestTurn
	} `json:"params"`
	Result struct {
		ClaimID string `json:"claimId"`
		Seq     int64  `json:"seq"`
	} `json:"result"`
	Error json.RawMessage `json:"error"`
}

// handle processes a frame: it claims an offered turn, ends a claimed turn, and counts an ended
// turn.
func (s *seat) handle(frame []byte) error {
	var f hubFrame
	if err := json.Unmarshal(frame, &f); err != nil {
		return fmt.Errorf("%w: %.300s", err, frame)
	}
	if f.Method == methods.NotifyRequestTurn {
		return s.call(&f.Params.RequestTurn, `"method":"claimTurn","params":{"conversationId":"%s","claimId":"%s"}`,
			f.Params.ConversationID, f.Params.ClaimID)
	}
	turn := s.turns[f.ID]
	delete(s.turns, f.ID)
	switch {
	case f.Method != "":
		return fmt.Errorf("unexpected: %.300s", frame)
	case turn == nil || f.Error != nil:
		return fmt.Errorf("unexpected answer: %.300s", frame)
	case f.Result.Seq == 0:
		return s.call(turn, `"method":"sendMessage","params":{"conversationId":"%s","claimId":"%s","turn":%d,"payload":{"text":"%s says what it has to say in turn %d"},"finality":"turn","clientRequestId":"t%d"}`,
			turn.ConversationID, turn.ClaimID, turn.Turn, s.agent, turn.Turn, turn.Turn)
	}
	return s.said(turn.ConversationID)
}

// call makes a call for a turn. Nothing in args needs escaping.
func (s *seat) call(turn *parley.RequestTurn, format string, args ...any) error {
	s.n++
	s.turns[s.n] = turn
	s.frame = fmt.Appendf(s.frame[:0], `{"jsonrpc":"2.0","id":%d,`, s.n)
	s.frame = fmt.Appendf(s.frame, format, args...)
	return s.stream.WriteFrame(append(s.frame, '}'))
}

// said notes the acknowledgement of a final message.
func (s *seat) said(conversation string) error {
	var i int
	if _, err := fmt.Sscanf(conversation, "turn-%d", &i); err != nil {
		return fmt.Errorf("a turn of %s: %w", conversation, err)
	}
	now := time.Since(s.table.start)
	before := s.table.finals[i].Swap(int64(now))
	if before != 0 && s.table.phase.Load() == measuring {
		s.took = append(s.took, now-time.Duration(before))
	}
	return nil
}
