package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/parleyhub/parley"
	"github.com/parleyhub/parley/internal/wire"
)

// benchAgent is the participant of every conversation of a run.
const benchAgent = "bench"

// dialers is how many connections are made at once.
const dialers = 16

// conn is one connection with at most one call in flight.
type conn struct {
	stream *wire.Stream
	// echo: the reply is the frame itself, not an acknowledgement.
	echo  bool
	index int
	ids   []string
	text  string

	n     int
	frame []byte
	reply []byte
	took  []time.Duration
}

// connect opens o.Conns connections.
func connect(ctx context.Context, to *child, o Options, ids []string) ([]*conn, error) {
	conns := make([]*conn, o.Conns)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(dialers)
	for i := range conns {
		g.Go(func() error {
			s, err := to.dial(ctx)
			if err != nil {
				return fmt.Errorf("connection %d: %w", i, err)
			}
			conns[i] = &conn{stream: s, echo: to.token == "", index: i, ids: ids, text: strings.Repeat("x", o.Size)}
			conns[i].next()
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		closeAll(conns)
		return nil, err
	}
	return conns, nil
}

func closeAll(conns []*conn) {
	for _, c := range conns {
		if c != nil {
			c.stream.Close()
		}
	}
}

// next prepares the next call: a message that ends its turn, under a key of its own, in a conversation chosen at random.
func (c *conn) next() {
	c.n++
	id := c.ids[rand.IntN(len(c.ids))]
	c.frame = fmt.Appendf(c.frame[:0],
		`{"jsonrpc":"2.0","id":%d,"method":"sendMessage","params":{"conversationId":"%s","payload":{"text":"%s"},"finality":"turn","clientRequestId":"b%d-%d"}}`,
		c.n, id, c.text, c.index, c.n)
}

// work calls until end.
func (c *conn) work(ctx context.Context, end time.Time) error {
	for {
		start := time.Now()
		if !start.Before(end) {
			return ctx.Err()
		}
		c.next()
		if err := c.stream.WriteFrame(c.frame); err != nil {
			return err
		}
		var err error
		if c.reply, err = c.stream.ReadFrame(c.reply); err != nil {
			return err
		}
		if err := c.checkReply(); err != nil {
			return err
		}
		c.took = append(c.took, time.Since(start))
	}
}

func (c *conn) taken() []time.Duration { return take(&c.took) }

func workers(conns []*conn) []worker {
	all := make([]worker, len(conns))
	for i, c := range conns {
		all[i] = c
	}
	return all
}

var acknowledged = []byte(`"result":{"seq":`)

func (c *conn) checkReply() error {
	if c.echo && bytes.Equal(c.reply, c.frame) || !c.echo && bytes.Contains(c.reply, acknowledged) {
		return nil
	}
	return fmt.Errorf("unexpected reply: %.300s", c.reply)
}

// createConversations makes n conversations in which the appends never wait for a turn and meet no limit.
func createConversations(ctx context.Context, hub *child, n int) ([]string, error) {
	ids := make([]string, n)
	g, ctx := errgroup.WithContext(ctx)
	for w := range min(n, dialers) {
		g.Go(func() error {
			s, err := hub.dial(ctx)
			if err != nil {
				return err
			}
			defer s.Close()
			for i := w; i < n; i += dialers {
				ids[i] = fmt.Sprintf("bench-%d", i)
				if err := create(s, ids[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return ids, g.Wait()
}

func create(s *wire.Stream, id string) error {
	return createBy(s, &parley.CreateConversationParams{
		ConversationID: id,
		Participants:   []parley.Participant{{ID: benchAgent, Kind: parley.KindAgent}},
		Policy:         &parley.Policy{Kind: parley.PolicyOpen},
		Limits:         &parley.Limits{MaxEvents: parley.MaxEventsLimit, MaxBytes: parley.MaxBytesLimit},
	})
}

// createBy makes a conversation.
func createBy(s *wire.Stream, p *parley.CreateConversationParams) error {
	params, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if err := s.WriteFrame(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":"createConversation","params":%s}`, params)); err != nil {
		return err
	}
	reply, err := s.ReadFrame(nil)
	if err == nil && !bytes.Contains(reply, []byte(`"result":{`)) {
		err = fmt.Errorf("create %s: %.300s", p.ConversationID, reply)
	}
	return err
}

// dial connects to a child, authenticated where it is a hub.
func (c *child) dial(ctx context.Context) (*wire.Stream, error) {
	s, err := wire.DialStream(ctx, c.url, nil)
	if err != nil || c.token == "" {
		return s, err
	}
	if err := authenticate(s, c.token); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// authenticate chooses whom the admin token speaks as.
func authenticate(s *wire.Stream, token string) error {
	err := s.WriteFrame(fmt.Appendf(nil,
		`{"jsonrpc":"2.0","id":1,"method":"authenticate","params":{"token":"%s","agentId":"%s"}}`, token, benchAgent))
	if err != nil {
		return err
	}
	reply, err := s.ReadFrame(nil)
	if err == nil && !bytes.Contains(reply, []byte(`"ok":true`)) {
		err = fmt.Errorf("authenticate: %.300s", reply)
	}
	return err
}
