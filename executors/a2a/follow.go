package a2a

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	protolog "github.com/a2aproject/a2a-go/v2/log"

	"github.com/parleyhub/parley"
)

const (
	// lookBack is how many of the last events of a conversation Follow reads at its start, and
	// maxListed how many conversations.
	lookBack  = 100
	maxListed = 10_000
	// closedFor is how recently a conversation must have been closed for its task to be canceled at
	// the start of Follow.
	closedFor = 24 * time.Hour
)

// open is a task that waits for input in a conversation.
type open struct {
	client       parley.Client
	conversation string
	participant  string
	seq          int64 // of the message with the link
	link         link
}

// watch passes a task to Follow.
func (a *Agent) watch(o open) {
	select {
	case a.waiting <- o:
	default: // Follow does not run, or the queue is full
	}
}

// Follow cancels remote tasks that wait for input when their conversation is closed, until ctx
// ends. client is the client of the executor. It starts with the conversations of the client's own
// id, including those closed within the last day. Later it adds those in which this agent has a
// turn. It waits for its goroutines.
func (a *Agent) Follow(ctx context.Context, client parley.Client) {
	ctx = protolog.AttachLogger(ctx, a.log)
	f := &follower{Agent: a, known: map[string]bool{}}
	defer f.work.Wait()
	for _, o := range f.find(ctx, client) {
		f.begin(ctx, o)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case o := <-a.waiting:
			f.begin(ctx, o)
		}
	}
}

// follower is one call of Follow.
type follower struct {
	*Agent
	work sync.WaitGroup

	mu    sync.Mutex // guards the field below
	known map[string]bool
}

// begin watches a conversation that is not watched yet.
func (f *follower) begin(ctx context.Context, o open) {
	key := o.conversation + " " + o.participant
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known[key] {
		return
	}
	if len(f.known) >= MaxFollowed {
		f.log.Warn("too many tasks wait for input; this one is not canceled when its conversation is closed",
			"conversation", o.conversation)
		return
	}
	f.known[key] = true
	f.work.Go(func() {
		err := f.follow(ctx, &o)
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.known, key)
		if err != nil && ctx.Err() == nil {
			f.log.Warn("a conversation is no longer followed", "conversation", o.conversation, "error", err)
		}
	})
}

// follow waits for the end of a conversation, and cancels its open task.
func (f *follower) follow(ctx context.Context, o *open) error {
	closed := false
	for e, err := range o.client.Events(ctx, o.conversation, o.seq-1) {
		if err != nil {
			return err
		}
		if e.From == o.participant {
			if l := f.linkOf(&e); l != nil {
				o.link = *l
			}
		}
		if e.Closes() {
			closed = true
			break
		}
	}
	if !closed || !o.link.waits() || !safeID(o.link.TaskID) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	p, err := f.connect(ctx)
	if err == nil {
		err = p.cancel(ctx, o.link.TaskID)
	}
	if isRefusal(err) { // the task is over
		f.log.Debug("canceling the task failed", "task", o.link.TaskID, "error", err)
		return nil
	}
	return err
}

// find finds tasks that wait for input.
func (f *follower) find(ctx context.Context, client parley.Client) []open {
	now, err := client.Now(ctx)
	if err != nil {
		f.log.Warn("listing the conversations failed", "error", err)
		return nil
	}
	var all []open
	cursor := ""
	for range maxListed / 100 {
		page, err := client.ListConversations(ctx, &parley.ListConversationsParams{Limit: 100, Cursor: cursor})
		if err != nil {
			f.log.Warn("listing the conversations failed", "error", err)
			return all
		}
		for i := range page.Conversations {
			c := &page.Conversations[i]
			if !slices.Contains(c.Participants, client.AgentID()) ||
				c.Status == parley.StatusClosed && now.Sub(c.UpdatedAt.Time()) > closedFor {
				continue
			}
			if o, err := f.look(ctx, client, c); err == nil && o != nil {
				all = append(all, *o)
			} else if err != nil && !errors.Is(err, parley.ErrNotFound) {
				f.log.Debug("reading a conversation failed", "conversation", c.ConversationID, "error", err)
			}
		}
		if cursor = page.NextCursor; cursor == "" {
			break
		}
	}
	return all
}

// look reads the last events of a conversation.
func (f *follower) look(ctx context.Context, client parley.Client, c *parley.ConversationSummary) (*open, error) {
	var o *open
	err := tail(ctx, client, c.ConversationID, max(c.LatestSeq-lookBack, 0), func(e *parley.Event) bool {
		if e.From != client.AgentID() {
			return true
		}
		if l := f.linkOf(e); l != nil {
			o = &open{client: client, conversation: c.ConversationID, participant: e.From, seq: e.Seq, link: *l}
		}
		return true
	})
	if o != nil && !o.link.waits() {
		o = nil
	}
	return o, err
}
