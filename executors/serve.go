package executors

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/parleyhub/parley"
)

// lookAgain is after how many looks Serve goes through all conversations again, for one that it was added to later.
const lookAgain = 30

// Serve runs a Loop for each active conversation in which the client takes part, those to come included, until ctx ends (its
// error) or the client can do no more (ErrUnavailable, ErrUnauthenticated, ErrForbidden). It returns when all loops have ended.
func Serve(ctx context.Context, client parley.Client, agent parley.Agent, o *Options) error {
	opts := o.withDefaults()
	ctx, cancel := context.WithCancel(ctx)
	s := &server{client: client, agent: agent, opts: opts, turns: make(chan struct{}, opts.Turns), running: map[string]bool{}}
	defer s.wg.Wait()
	defer cancel()
	pauses := opts.newBackoff()
	for looks := 0; ; looks++ {
		if looks%lookAgain == 0 {
			s.from = ""
		}
		next := opts.PollEvery
		err := s.look(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			pauses.Reset()
		case isFinal(err):
			return fmt.Errorf("serve as %s: %w", client.AgentID(), err)
		default:
			opts.Logger.Warn("conversations cannot be listed", "agent", client.AgentID(), "error", err)
			next = min(pauses.NextBackOff(), opts.MaxBackoff)
		}
		if err := pause(ctx, next); err != nil {
			return err
		}
	}
}

type server struct {
	client parley.Client
	agent  parley.Agent
	opts   Options
	turns  chan struct{}
	from   string // the cursor of the last page; what comes is listed behind it
	wg     sync.WaitGroup

	mu      sync.Mutex // guards the field below
	running map[string]bool
}

// look starts a loop for each conversation that has none.
func (s *server) look(ctx context.Context) error {
	for {
		page, err := s.client.ListConversations(ctx, &parley.ListConversationsParams{
			Status: parley.StatusActive, Limit: 100, Cursor: s.from,
		})
		if err != nil {
			return err
		}
		for _, c := range page.Conversations {
			s.run(ctx, c)
		}
		if page.NextCursor == "" {
			return nil
		}
		s.from = page.NextCursor
	}
}

func (s *server) run(ctx context.Context, c parley.ConversationSummary) {
	id := c.ConversationID
	if c.Status != parley.StatusActive || !slices.Contains(c.Participants, s.client.AgentID()) || !s.start(id) {
		return
	}
	if s.opts.Accept != nil && !s.opts.Accept(c) {
		s.stop(id)
		return
	}
	s.wg.Go(func() {
		defer s.stop(id)
		l := newLoop(s.client, id, s.agent, s.opts)
		l.turns = s.turns
		if err := l.run(ctx); err != nil && !errors.Is(err, ctx.Err()) {
			l.log.Error("the agent takes no more turns here for now", "error", err)
		}
	})
}

// start notes that a conversation has a loop; false when it has one already.
func (s *server) start(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[id] {
		return false
	}
	s.running[id] = true
	return true
}

func (s *server) stop(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, id)
}
